// Are the reports of a job what programs can read, and people? One thread.
#include "trace/reports.hpp"

#include "base/json.hpp"
#include "rings.hpp"
#include "support/unit.hpp"
#include "trace/command_line.hpp"
#include "trace/torch.hpp"

namespace {

using namespace tutti;
using namespace tutti::test;
using trace::Job;
using trace::Recording;

bool has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return true;
    print_error("%s\nlacks\n%s\n", text.c_str(), part.c_str());
    return false;
}

// Rank 1 comes 0.2 s later to each of 10 calls, and not to the last.
Job job_of_two() {
    std::vector<Recording> all;
    for (const int rank : {0, 1}) {
        Ring ring(rank, 2);
        for (uint64_t i = 1; i <= 10; ++i) {
            const double end = 20 - static_cast<double>(i);
            ring.add({.sequence = i, .created = end + (rank == 1 ? 0.1 : 0.3), .completed = end});
        }
        if (rank == 0) {
            ring.add({.sequence = 11, .created = 5, .is_in_background = true, .text = "lo\"ss"});
        }
        all.push_back(ring.recording());
    }
    return trace::make_job(std::move(all), {});
}

void json_texts_are_escaped(void**) {
    assert_string_equal(json_text("a\"b\\c\n\x01\xff é").c_str(),
                        "\"a\\\"b\\\\c\\n\\u0001\\ufffd é\"");
    assert_string_equal(json_text("\xe2\x82").c_str(), "\"\\ufffd\\ufffd\"");
}

void troubles_are_json(void**) {
    const Job job = job_of_two();
    const std::string text = trace::troubles_json(job, trace::diagnose(job));
    assert_true(has(text,
                    "\"kind\": \"missing\", \"sentence\": \"all_reduce #11 of group world "
                    "(\\\"lo\\\"ss\\\"): rank 0 has waited 5.0 s; rank 1 is not in it: its "
                    "last call, #10, completed 10.0 s ago\", \"ranks\": [1], \"waiting\": "
                    "[0], \"group\": \"world\", \"call\": \"all_reduce\", \"sequence\": 11"));
}

void a_job_without_trouble_says_so(void**) {
    const Job job = trace::make_job({Ring(0, 1).all_reduces(3, 1).recording()}, {});
    assert_string_equal(trace::troubles_text(job, trace::diagnose(job)).c_str(),
                        "no trouble: 3 calls of 1 rank in 1 group\n");
}

void a_table_has_the_last_calls(void**) {
    const std::string text = trace::table_text(job_of_two(), 1);
    assert_string_equal(
        text.c_str(),
        "rank 0: process 1000 on here, running\n"
        "   -5.000000 s  all_reduce #11 of group world (\"lo\"ss\"), started for 5.0 s, in the "
        "background\n"
        "rank 1: process 1001 on here, running\n"
        "  -10.100000 s  all_reduce #10 of group world, completed after 0.1 s\n");
}

void a_timeline_is_in_order(void**) {
    assert_string_equal(trace::timeline_text(job_of_two(), 3).c_str(),
                        "  -10.300000 s  rank 0  all_reduce #10 of group world, completed after "
                        "0.3 s\n"
                        "  -10.100000 s  rank 1  all_reduce #10 of group world, completed after "
                        "0.1 s\n"
                        "   -5.000000 s  rank 0  all_reduce #11 of group world (\"lo\"ss\"), "
                        "started for 5.0 s, in the background\n");
}

void a_straggler_is_named(void**) {
    assert_true(has(trace::stragglers_text(job_of_two()),
                    "10 collectives of group world:\n"
                    "  rank 1: last in 10, the others waited 2000.000 ms; after the first by "
                    "200.000 ms on average, at most 200.000 ms\n"));
}

void clocks_of_hosts_are_aligned(void**) {
    std::vector<Recording> all;
    for (const int rank : {0, 1}) {
        Ring ring(rank, 2);
        ring.head().boot = static_cast<uint64_t>(7 + rank);
        const double wrong = rank == 1 ? 100 : 0;  // its clock is slow
        ring.head().opened.ticks = ring.head().opened.realtime_ns = Ring::ticks(500);
        for (uint64_t i = 1; i <= 5; ++i) {
            const double end = 20 - static_cast<double>(i) + wrong;
            ring.add({.sequence = i, .created = end + (rank == 0 ? 0.1 : 0.2), .completed = end});
        }
        all.push_back(ring.recording());
    }
    assert_true(has(trace::stragglers_text(trace::make_job(std::move(all), {})),
                    "rank 0: last in 5, the others waited 500.000 ms"));
}

void a_trace_has_ranks_as_processes(void**) {
    const std::string text = trace::perfetto_json(job_of_two());
    assert_true(has(text,
                    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"tid\": 0, "
                    "\"args\": {\"name\": \"rank 1 (process 1001 on here)\"}}"));
    assert_true(has(text,
                    "{\"ph\": \"X\", \"name\": \"all_reduce #10\", \"cat\": \"collective\", "
                    "\"pid\": 1, \"tid\": 7, \"ts\": 1699999989900000.000, \"dur\": "
                    "100000.000"));
    assert_true(has(text, "\"ph\": \"b\", \"name\": \"all_reduce #11\""));
}

void torch_reads_names_and_states(void**) {
    Job job = job_of_two();
    const std::string text = trace::torch_json(job.members[0].record);
    assert_true(has(text,
                    "\"pg_config\": {\"world\": {\"name\": \"world\", \"desc\": "
                    "\"default_pg\", \"ranks\": \"[0, 1]\"}}"));
    assert_true(has(text, "\"profiling_name\": \"gloo:all_reduce\""));
    assert_true(has(text, "\"input_sizes\": [[100]], \"input_dtypes\": [\"Float\"]"));
    assert_true(has(trace::torch_json(job.members[0].record, {.only_active = true}),
                    "\"entries\": [{\"record_id\": 0"));
    const std::string pickle = trace::torch_pickle(job.members[0].record);
    assert_memory_equal(pickle.data(), "\x80\x02}(X\x07\0\0\0version", 15);
    assert_int_equal(pickle.back(), '.');
}

void command_lines_are_read(void**) {
    const auto line = trace::parse_command_line({"--torch=x_", "--last", "7", "a", "--", "-b"});
    assert_true(line.report == trace::Report::Torch && line.prefix == "x_" && line.last == 7);
    assert_true(line.places == (std::vector<std::string>{"a", "-b"}));
    TUTTI_EXPECT_ERROR((void)trace::parse_command_line({"--no"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "there is no option --no");
    TUTTI_EXPECT_ERROR((void)trace::parse_command_line({"--table", "--json"}),
                       TUTTI_ERR_INVALID_ARGUMENT, "--table and --json exclude each other");
    TUTTI_EXPECT_ERROR((void)trace::parse_command_line({"--patience", "x"}),
                       TUTTI_ERR_INVALID_ARGUMENT, "--patience is \"x\"");
    TUTTI_EXPECT_ERROR((void)trace::parse_command_line({"--last"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "--last needs a value");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(json_texts_are_escaped),        TUTTI_TEST(troubles_are_json),
        TUTTI_TEST(a_job_without_trouble_says_so), TUTTI_TEST(a_table_has_the_last_calls),
        TUTTI_TEST(a_timeline_is_in_order),        TUTTI_TEST(a_straggler_is_named),
        TUTTI_TEST(clocks_of_hosts_are_aligned),   TUTTI_TEST(a_trace_has_ranks_as_processes),
        TUTTI_TEST(torch_reads_names_and_states),  TUTTI_TEST(command_lines_are_read),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
