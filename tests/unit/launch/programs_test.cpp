// Are several programs, with ":" between them, understood, and is what is wrong in them named? One
// thread.
#include "command_line.hpp"

namespace {

using tutti::launch::Options;
using tutti::launch::parse_process_count;
using tutti::test::expect_refusal;
using tutti::test::parse;
using tutti::test::show_programs;
using tutti::test::Variables;

void expect_programs(const Options& options, const char* wanted) {
    assert_string_equal(show_programs(options).c_str(), wanted);
}

void colons_stand_between_programs(void**) {
    const auto options = parse({"--nproc-per-node=2", "a", "-x", ":", "--nproc-per-node", "3",
                                "--role=r", "b", ":", "-m", "--", "c"});
    expect_programs(options, "2 default 0 a -x | 3 r 0 b | 1 default 2 c");
    assert_int_equal(local_size(options), 6);
    assert_true(options.notice.empty());
    expect_programs(parse({"--role=x", "--no-python", "a", ":", "--run-path", "b"}),
                    "1 x 3 a | 1 default 1 b");
    // A colon in a word is none, nor is one that an option has by its equals sign.
    expect_programs(parse({"--role=:", "a:", "::", ":b"}), "1 : 0 a: :: :b");
    expect_programs(parse({"--nproc-per-node=cpu", "a", ":", "--nproc-per-node=cpu", "b"}),
                    tutti::cat(parse_process_count("cpu", ""), " default 0 a | ",
                               parse_process_count("cpu", ""), " default 0 b")
                        .c_str());
}

void what_follows_two_dashes_is_one_program(void**) {
    expect_programs(parse({"--", "a", ":", "b", ":"}), "1 default 0 a : b :");
    expect_programs(parse({"a", "--", ":", "--role=r", "--", "b", ":", "--role", ":"}),
                    "1 default 0 a -- | 1 r 0 b : --role :");
}

void a_program_that_may_have_been_an_argument_is_noticed(void**) {
    const auto options = parse({"a", "1", ":", "2", "3"});
    expect_programs(options, "1 default 0 a 1 | 1 default 0 2 3");
    assert_string_equal(
        options.notice.c_str(),
        "\"2\" follows \":\" and is a program with one rank; \"--\" before a program "
        "passes it all that follows, \":\" as well");
    assert_true(parse({"a", ":", "--nproc-per-node=1", "b"}).notice.empty());
    assert_true(parse({"a", ":", "--", "b"}).notice.empty());
}

void variables_are_of_the_job_and_of_the_first_program(void**) {
    const Variables variables{{"PET_NPROC_PER_NODE", "3"},
                              {"PET_ROLE", "r"},
                              {"PET_NO_PYTHON", "1"},
                              {"PET_MAX_RESTARTS", "4"}};
    const auto options = parse({"a", ":", "--nproc-per-node=2", "b"}, variables);
    expect_programs(options, "3 r 3 a | 2 default 0 b");
    assert_int_equal(options.max_restarts, 4);
}

void programs_that_are_missing_are_refused(void**) {
    expect_refusal({":", "a"}, "the program before the first \":\" is missing");
    expect_refusal({"--nproc-per-node=2", ":", "a"}, "before the first \":\" is missing");
    expect_refusal({"a", ":"}, "the program after the last \":\" is missing; \"--\" before");
    expect_refusal({"a", ":", "--nproc-per-node=2"}, "after the last \":\" is missing");
    expect_refusal({"a", ":", "--"}, "after the last \":\" is missing");
    expect_refusal({"a", ":", ":", "b"}, "the program between two \":\" is missing");
    expect_refusal({":"}, "the program before the first \":\" is missing");
    expect_refusal({"--role", ":", "a"}, "--role needs a value");
    expect_refusal({"a", ":", "--nproc-per-node", ":", "b"}, "--nproc-per-node needs a value");
}

void what_stands_after_a_colon_is_of_a_program(void**) {
    for (const auto* option :
         {"--nnodes=2", "--max_restarts=1", "--bind-to=core", "-t=3", "--help", "--standalone"}) {
        expect_refusal({"a", ":", option, "b"},
                       "is of the whole job: it stands before the first program, not after \":\"");
    }
    expect_refusal({"a", ":", "-r", "3", "b"}, "--redirects is of the whole job");
    expect_refusal({"a", ":", "--x", "b"},
                   "unknown option --x after \":\"; \"--\" before a program");
    expect_refusal({"a", ":", "-m", "--no-python", "b"}, "--module, --run-path and --no-python");
    expect_refusal({"a", ":", "--nproc-per-node=0", "b"}, "--nproc-per-node is \"0\", not a whole");
}

void all_ranks_of_a_node_are_counted(void**) {
    parse({"-t=3:1", "--nproc-per-node=2", "a", ":", "--nproc-per-node=2", "b"});
    expect_refusal(
        {"-t=4:1", "--nproc-per-node=2", "a", ":", "--nproc-per-node=2", "b"},
        "--tee names local rank 4, and the sum of all --nproc-per-node is 4: local ranks "
        "are 0 to 3");
    expect_refusal({"--nproc-per-node=4000", "a", ":", "--nproc-per-node=97", "b"},
                   "the sum of all --nproc-per-node is 4097, not a whole number from 1 to 4096");
    expect_refusal(
        {"--bind-to=core", "--nproc-per-node=4000", "a", ":", "--nproc-per-node=96", "b"},
        "4096 ranks on this node need a core each");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(colons_stand_between_programs),
        TUTTI_TEST(what_follows_two_dashes_is_one_program),
        TUTTI_TEST(a_program_that_may_have_been_an_argument_is_noticed),
        TUTTI_TEST(variables_are_of_the_job_and_of_the_first_program),
        TUTTI_TEST(programs_that_are_missing_are_refused),
        TUTTI_TEST(what_stands_after_a_colon_is_of_a_program),
        TUTTI_TEST(all_ranks_of_a_node_are_counted),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
