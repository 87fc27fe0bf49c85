// Is what nodes tell each other understood, and garbage refused; is the first failure found; is a
// program's own message read from its error file? One thread.
#include "launch/failure.hpp"

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "launch/error_file.hpp"
#include "launch/fields.hpp"
#include "launch/limits.hpp"
#include "launch/statement.hpp"
#include "launch/verdict.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace {

using tutti::launch::Failure;
using tutti::launch::first_of;
using tutti::launch::join_fields;
using tutti::launch::message_of_json;
using tutti::launch::split_fields;
using tutti::launch::Verdict;

constexpr int64_t millisecond_us = 1'000;

Failure failure_at(int64_t time_us, int signal = 0) {
    Failure failure;
    failure.rank = 0;
    failure.time_us = time_us;
    failure.ending = {signal != 0, signal != 0 ? signal : 1, false};
    return failure;
}

void fields_hold_any_bytes(void**) {
    const std::vector<std::string> fields{"", "3:abc", std::string("\0\n:", 3), "x"};
    assert_true(split_fields(join_fields(fields), fields.size()) == fields);
}

void fields_that_are_none_are_refused(void**) {
    for (const char* text : {"", "1", "1:", "2:a", "-1:a", "x:a", "99999999999999999999:a", ":a"}) {
        TUTTI_EXPECT_ERROR(split_fields(text, 1), TUTTI_ERR_INVALID_ARGUMENT, "another tuttirun");
    }
    TUTTI_EXPECT_ERROR(split_fields("1:a", 2), TUTTI_ERR_INVALID_ARGUMENT, "too short");
}

void a_failure_arrives_as_it_was_sent(void**) {
    Failure sent = failure_at(1'234'567, SIGSEGV);
    sent.rank = 5;
    sent.local_rank = 1;
    sent.node = 2;
    sent.host = "alpha";
    sent.pid = 99;
    sent.program = "./simulation";
    sent.ending.core_dumped = true;
    sent.message = "no\nnever";
    sent.last_lines = {"one", "", "three"};
    const auto got = tutti::launch::decode_failure(encode(sent));
    assert_int_equal(got.rank, 5);
    assert_int_equal(got.local_rank, 1);
    assert_int_equal(got.node, 2);
    assert_string_equal(got.host.c_str(), "alpha");
    assert_int_equal(got.pid, 99);
    assert_string_equal(got.program.c_str(), "./simulation");
    assert_true(got.ending.by_signal && got.ending.core_dumped);
    assert_int_equal(got.ending.number, SIGSEGV);
    assert_int_equal(got.time_us, 1'234'567);
    assert_string_equal(got.message.c_str(), "no\nnever");
    assert_true(got.last_lines == sent.last_lines);
    TUTTI_EXPECT_ERROR(tutti::launch::decode_failure("1:a"), TUTTI_ERR_INVALID_ARGUMENT,
                       "another tuttirun");
}

void a_statement_arrives_as_it_was_sent(void**) {
    using tutti::launch::Statement;
    const Statement sent{true, 3, {failure_at(2'000'000), failure_at(1'000'000, SIGKILL)}};
    const auto got = tutti::launch::decode_statement(encode(sent));
    assert_true(got.final && got.succeeded == 3);
    assert_int_equal(got.failures.size(), 2);
    assert_int_equal(got.failures[0].time_us, 2'000'000);
    assert_true(got.failures[1].ending.by_signal);
    assert_true(tutti::launch::decode_statement(encode(Statement{})).failures.empty());
    TUTTI_EXPECT_ERROR(tutti::launch::decode_statement(join_fields({"0", "-1"})),
                       TUTTI_ERR_INVALID_ARGUMENT, "a number in the statement");
}

void the_statements_of_nodes_add_up(void**) {
    using tutti::launch::Statement;
    const Statement one{false, 2, {failure_at(2'000'000), failure_at(4'000'000)}};
    // A node's own first one stays ahead of those it saw at the same look.
    const Statement other{true, 1, {failure_at(1'000'000, SIGKILL), failure_at(999'999)}};
    const auto sum = tutti::launch::sum_of({one, Statement{}, other});
    assert_true(sum.final && sum.succeeded == 3);
    assert_int_equal(sum.failures.size(), 4);
    const int64_t times[] = {1'000'000, 999'999, 2'000'000, 4'000'000};
    for (size_t i = 0; i < 4; ++i) assert_int_equal(sum.failures[i].time_us, times[i]);
    assert_true(tutti::launch::sum_of({Statement{}}).failures.empty());
}

void a_verdict_arrives_as_it_was_sent(void**) {
    const auto got = tutti::launch::decode_verdict(
        encode(Verdict{Verdict::Kind::Signal, 3, "beta", SIGTERM, "why"}));
    assert_true(got.kind == Verdict::Kind::Signal);
    assert_int_equal(got.node, 3);
    assert_string_equal(got.host.c_str(), "beta");
    assert_int_equal(got.signal, SIGTERM);
    assert_string_equal(got.text.c_str(), "why");
    TUTTI_EXPECT_ERROR(tutti::launch::decode_verdict(join_fields({"4", "0", "", "0", ""})),
                       TUTTI_ERR_INVALID_ARGUMENT, "a number in the verdict");
}

void the_earliest_failure_is_the_first_but_a_kill_counts_earlier(void**) {
    assert_false(first_of({}).has_value());
    assert_int_equal(*first_of({failure_at(3'000'000), failure_at(2'000'000)}), 1);
    const auto late = 1'000'000 + 50 * millisecond_us;
    assert_int_equal(*first_of({failure_at(1'000'000), failure_at(late, SIGKILL)}), 1);
    assert_int_equal(*first_of({failure_at(1'000'000), failure_at(late, SIGABRT)}), 0);
    assert_int_equal(*first_of({failure_at(1'000'000), failure_at(2'000'000, SIGKILL)}), 0);
}

void the_report_of_a_node_without_ranks_says_why(void**) {
    Failure failure;
    failure.node = 1;
    failure.host = "beta";
    failure.message = "cannot run";
    const auto lines = report(true, failure, 2);
    assert_int_equal(lines.size(), 1);
    assert_true(lines[0].starts_with("first failure: node 1 (beta) at "));
    assert_true(lines[0].ends_with(": cannot run"));
}

void the_report_names_one_of_several_programs(void**) {
    Failure failure = failure_at(0);
    failure.local_rank = 2;
    failure.host = "beta";
    assert_true(report(true, failure, 1)[0].starts_with(
        "first failure: rank 0 (local rank 2, pid -1) on beta exited with code 1 at "));
    failure.program = "./simulation";
    assert_true(report(false, failure, 2)[0].starts_with(
        "later failure: rank 0 (local rank 2, pid -1) of ./simulation on node 0 (beta) exited "));
}

void expect_message(const std::string& json, const std::string& message) {
    assert_string_equal(message_of_json(json).c_str(), message.c_str());
    assert_true(message_of_json(json) == message);
}

void the_message_of_an_error_file_is_found(void**) {
    expect_message(R"({"message": {"message": "E: no", "extraInfo": {"timestamp": "1"}}})",
                   "E: no");
    expect_message(R"({"code": 3, "message" : "a\n\"b\"\\\t\u00e9\u20ac\ud83d\ude00"})",
                   "a\n\"b\"\\\t\u00e9\u20ac\U0001F600");
}

// As torch's record_exception writes it, and json.dump with ensure_ascii.
void an_error_file_of_torch_is_understood(void**) {
    expect_message(
        R"({"message": {"message": "ValueError: caf\u00e9", "errorCode": 1, "extraInfo":)"
        R"( {"py_callstack": "Traceback:\n  \"message\": \"x\"", "timestamp": "1700000000"}}})"
        "\n",
        "ValueError: caf\u00e9");
    expect_message(R"({"message": "with a \u0000 in it"})", std::string("with a \0 in it", 14));
}

void a_message_anywhere_else_is_not_taken(void**) {
    for (const char* text : {R"({"extraInfo": {"message": "x"}})", R"([{"message": "x"}])",
                             R"({"message": {"message": {"message": "x"}}})",
                             R"({"message": [{"message": "x"}]})", R"({"Message": "x"})"}) {
        expect_message(text, text);
    }
}

void what_is_almost_json_is_shown_as_it_is(void**) {
    for (const char* text :
         {R"({"message": "x"} and more)", R"({"message": "x"}{"message": "y"})",
          R"({"message": "x",})", R"({"message": "x" "code": 3})", R"({'message': 'x'})",
          R"({"message": "x", "message": "y"})", R"({"message": "\x41"})", R"({message: "x"})",
          "{\"message\": \"a\nb\"}", "{\"message\": \"\xff\"}", R"({"message": "\ud83d"})",
          R"({"message": "x", "n": 01})", "\xef\xbb\xbf{\"message\": \"x\"}"}) {
        expect_message(text, text);
    }
    const std::string deep(100'000, '[');
    expect_message("{\"message\": \"x\", \"y\": " + deep, "{\"message\": \"x\", \"y\": " + deep);
}

void an_error_file_without_a_message_is_shown_as_it_is(void**) {
    for (const char* text : {"", "plain words", "{\"message\": 3}", "{\"message\": \"unfinished",
                             "{\"message\"", "{\"message\": \"\\", "{\"message\": \"\\u12\"}",
                             "\"message\"", "[\"message\", \"x\"]"}) {
        expect_message(text, text);
    }
}

// Whatever a program left there, its launcher waits for nobody and reads no more than it can show.
void what_is_no_plain_error_file_is_not_read(void**) {
    using tutti::launch::read_error_file;
    const tutti::test::TemporaryFolder folder;
    assert_string_equal(read_error_file(folder.file("none")).c_str(), "");
    assert_string_equal(read_error_file(folder.path()).c_str(), "");
    assert_int_equal(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
    assert_string_equal(read_error_file(folder.file("fifo")).c_str(), "");
    std::filesystem::create_symlink("/dev/zero", folder.file("link"));
    assert_string_equal(read_error_file(folder.file("link")).c_str(), "");
    std::ofstream(folder.file("plain")) << R"({"message": "why"})";
    assert_string_equal(read_error_file(folder.file("plain")).c_str(), "why");
}

void of_a_long_error_file_the_start_is_shown(void**) {
    const tutti::test::TemporaryFolder folder;
    const auto path = folder.file("error.json");
    std::ofstream(path) << "x\u00e9";
    constexpr uintmax_t size = 50'000'000;
    std::filesystem::resize_file(path, size);
    const auto text = tutti::launch::read_error_file(path);
    assert_true(text.starts_with("x\u00e9") && text.ends_with("... (cut here)"));
    assert_true(text.size() < tutti::launch::limits::error_message_bytes + 20);
    // Between two characters.
    std::string accents = "x";
    while (accents.size() < 2 * tutti::launch::limits::error_message_bytes) accents += "\u00e9";
    std::ofstream(path) << accents;
    const auto cut = tutti::launch::read_error_file(path);
    assert_true(cut.ends_with("\u00e9... (cut here)"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(fields_hold_any_bytes),
        TUTTI_TEST(fields_that_are_none_are_refused),
        TUTTI_TEST(a_failure_arrives_as_it_was_sent),
        TUTTI_TEST(a_verdict_arrives_as_it_was_sent),
        TUTTI_TEST(a_statement_arrives_as_it_was_sent),
        TUTTI_TEST(the_statements_of_nodes_add_up),
        TUTTI_TEST(the_earliest_failure_is_the_first_but_a_kill_counts_earlier),
        TUTTI_TEST(the_report_of_a_node_without_ranks_says_why),
        TUTTI_TEST(the_report_names_one_of_several_programs),
        TUTTI_TEST(the_message_of_an_error_file_is_found),
        TUTTI_TEST(what_is_no_plain_error_file_is_not_read),
        TUTTI_TEST(of_a_long_error_file_the_start_is_shown),
        TUTTI_TEST(an_error_file_of_torch_is_understood),
        TUTTI_TEST(a_message_anywhere_else_is_not_taken),
        TUTTI_TEST(what_is_almost_json_is_shown_as_it_is),
        TUTTI_TEST(an_error_file_without_a_message_is_shown_as_it_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
