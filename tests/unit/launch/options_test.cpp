// Is tuttirun's command line understood, and what is wrong in it named? One thread.
#include "launch/options.hpp"

#include <initializer_list>
#include <vector>

#include "support/unit.hpp"

namespace {

using tutti::launch::Options;

Options parse(std::initializer_list<const char*> arguments) {
    const std::vector<const char*> list(arguments);
    return tutti::launch::parse_options(list);
}

void expect_command(const Options& options, std::initializer_list<const char*> words) {
    assert_true(options.command == std::vector<std::string>(words.begin(), words.end()));
}

void a_program_alone_gets_the_defaults(void**) {
    const auto options = parse({"program"});
    assert_true(options.action == Options::Action::Run);
    assert_int_equal(options.nproc_per_node, 1);
    assert_string_equal(options.master_addr.c_str(), "127.0.0.1");
    assert_int_equal(options.master_port, 0);
    assert_int_equal(options.shutdown_timeout_ms, 5'000);
    expect_command(options, {"program"});
}

void values_follow_a_space_or_an_equals_sign(void**) {
    assert_int_equal(parse({"--nproc-per-node", "3", "program"}).nproc_per_node, 3);
    assert_int_equal(parse({"--nproc-per-node=3", "program"}).nproc_per_node, 3);
    assert_string_equal(parse({"--master-addr=::1", "program"}).master_addr.c_str(), "::1");
    assert_int_equal(parse({"--master-port", "29500", "program"}).master_port, 29'500);
    assert_int_equal(parse({"--shutdown-timeout=0", "program"}).shutdown_timeout_ms, 0);
}

void names_are_joined_by_dashes_or_underscores(void**) {
    assert_int_equal(parse({"--nproc_per_node=3", "program"}).nproc_per_node, 3);
    assert_int_equal(parse({"--master_port", "7", "program"}).master_port, 7);
    assert_string_equal(parse({"--master_addr=a_b", "program"}).master_addr.c_str(), "a_b");
}

void options_after_the_program_belong_to_it(void**) {
    const auto options = parse({"--standalone", "program", "--nproc-per-node", "3", "--", "-x"});
    assert_int_equal(options.nproc_per_node, 1);
    expect_command(options, {"program", "--nproc-per-node", "3", "--", "-x"});
    expect_command(parse({"--", "--program", "a"}), {"--program", "a"});
}

void help_and_version_need_no_program(void**) {
    assert_true(parse({"--help"}).action == Options::Action::Help);
    assert_true(parse({"-h"}).action == Options::Action::Help);
    assert_true(parse({"--version"}).action == Options::Action::Version);
}

void help_names_every_option(void**) {
    const auto help = tutti::launch::help_text();
    for (const char* name : {"--nproc-per-node N ", "--standalone ", "--master-addr ADDRESS ",
                             "--master-port PORT ", "--shutdown-timeout SECONDS ", "--version "}) {
        if (help.find(name) == std::string::npos) fail_msg("%s is not in the help", name);
    }
}

void what_is_wrong_is_named(void**) {
    TUTTI_EXPECT_ERROR(parse({"--frobnicate", "program"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "unknown option --frobnicate");
    TUTTI_EXPECT_ERROR(parse({"-n", "4", "program"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "unknown option -n");
    TUTTI_EXPECT_ERROR(parse({"--nproc-per-node"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "--nproc-per-node needs a value");
    for (const char* value : {"0", "-1", "four", "", "4097", "2x"}) {
        TUTTI_EXPECT_ERROR(parse({"--nproc-per-node", value, "program"}),
                           TUTTI_ERR_INVALID_ARGUMENT,
                           tutti::cat("--nproc-per-node is \"", value, "\""));
    }
    TUTTI_EXPECT_ERROR(parse({"--master-port=65536", "program"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "--master-port is \"65536\"");
    TUTTI_EXPECT_ERROR(parse({"--master-addr=", "program"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "--master-addr is empty");
    TUTTI_EXPECT_ERROR(parse({"--standalone=yes", "program"}), TUTTI_ERR_INVALID_ARGUMENT,
                       "--standalone takes no value");
    TUTTI_EXPECT_ERROR(parse({"--standalone", "--master-port=1", "program"}),
                       TUTTI_ERR_INVALID_ARGUMENT, "--standalone chooses");
    for (const auto& arguments : {std::initializer_list<const char*>{}, {"--"}, {"--standalone"}}) {
        TUTTI_EXPECT_ERROR(parse(arguments), TUTTI_ERR_INVALID_ARGUMENT,
                           "the program to run is missing");
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_program_alone_gets_the_defaults),
        TUTTI_TEST(values_follow_a_space_or_an_equals_sign),
        TUTTI_TEST(names_are_joined_by_dashes_or_underscores),
        TUTTI_TEST(options_after_the_program_belong_to_it),
        TUTTI_TEST(help_and_version_need_no_program),
        TUTTI_TEST(help_names_every_option),
        TUTTI_TEST(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
