// Is tuttirun's command line understood, with the variables that stand in for it, and what is wrong
// in it named? One thread.
#include "launch/options.hpp"

#include <csignal>

#include "command_line.hpp"
#include "launch/help.hpp"

namespace {

using tutti::launch::Backend;
using tutti::launch::BindTo;
using tutti::launch::Options;
using tutti::test::expect_refusal;
using tutti::test::parse;
using tutti::test::show_programs;
using tutti::test::Variables;

void expect_endpoint(const Options& options, const char* host, int port) {
    assert_string_equal(options.endpoint.host.c_str(), host);
    assert_int_equal(options.endpoint.port, port);
}

void expect_command(const Options& options, std::initializer_list<const char*> words) {
    assert_int_equal(options.programs.size(), 1);
    assert_true(options.programs.front().command ==
                std::vector<std::string>(words.begin(), words.end()));
}

void a_program_alone_gets_the_defaults(void**) {
    const auto options = parse({"program"});
    assert_true(options.action == Options::Action::Run);
    assert_int_equal(options.nnodes, 1);
    assert_int_equal(local_size(options), 1);
    assert_true(options.bind_to == BindTo::None && options.processors.empty());
    assert_int_equal(*options.node_rank, 0);
    expect_endpoint(options, "127.0.0.1", 0);
    assert_string_equal(options.run_id.c_str(), "none");
    assert_string_equal(options.programs.front().role.c_str(), "default");
    assert_int_equal(options.max_restarts, 0);
    assert_true(options.on_failure == tutti::launch::OnFailure::Restart);
    assert_int_equal(options.shutdown_timeout_ms, 5'000);
    assert_int_equal(options.times.join_ms, 600'000);
    assert_true(options.redirects.empty() && options.tee.empty());
    assert_true(options.signals == std::vector<int>({SIGTERM, SIGINT, SIGHUP, SIGQUIT}));
    expect_command(options, {"program"});
}

void values_follow_a_space_or_an_equals_sign(void**) {
    assert_int_equal(local_size(parse({"--nproc-per-node", "3", "program"})), 3);
    assert_int_equal(local_size(parse({"--nproc-per-node=3", "program"})), 3);
    expect_endpoint(parse({"--master-addr=::1", "program"}), "::1", 0);
    expect_endpoint(parse({"--master-port", "29500", "program"}), "127.0.0.1", 29'500);
    assert_int_equal(parse({"--shutdown-timeout=0", "program"}).shutdown_timeout_ms, 0);
    assert_true(parse({"-r", "3", "program"}).redirects.has(7, 1));
    assert_true(parse({"-t=2", "program"}).tee.has(0, 2));
}

void names_are_joined_by_dashes_or_underscores(void**) {
    assert_int_equal(local_size(parse({"--nproc_per_node=3", "program"})), 3);
    expect_endpoint(parse({"--master_port", "7", "program"}), "127.0.0.1", 7);
    expect_endpoint(parse({"--master_addr=a_b", "program"}), "a_b", 0);
}

void options_after_the_program_belong_to_it(void**) {
    const auto options = parse({"--standalone", "program", "--nproc-per-node", "3", "--", "-x"});
    assert_int_equal(local_size(options), 1);
    expect_command(options, {"program", "--nproc-per-node", "3", "--", "-x"});
    expect_command(parse({"--", "--program", "a"}), {"--program", "a"});
}

void every_option_may_come_from_the_environment_and_the_command_line_wins(void**) {
    const Variables variables{
        {"PET_NNODES", "2"},         {"PET_NPROC_PER_NODE", "3"}, {"PET_NODE_RANK", "1"},
        {"PET_MASTER_ADDR", "host"}, {"PET_MASTER_PORT", "7"},    {"PET_MAX_RESTARTS", "4"},
        {"PET_ROLE", "trainer"},     {"PET_LOG_DIR", "/logs"},    {"PET_REDIRECTS", "1"},
        {"PET_RDZV_ID", "job"},      {"PET_NO_PYTHON", "1"},      {"PET_STANDALONE", "0"}};
    const auto options = parse({"--nproc-per-node", "5", "program"}, variables);
    assert_int_equal(options.nnodes, 2);
    assert_int_equal(local_size(options), 5);
    assert_int_equal(*options.node_rank, 1);
    expect_endpoint(options, "host", 7);
    assert_int_equal(options.max_restarts, 4);
    assert_string_equal(options.programs.front().role.c_str(), "trainer");
    assert_string_equal(options.log_dir.c_str(), "/logs");
    assert_string_equal(options.run_id.c_str(), "job");
    assert_true(options.redirects.has(0, 1));
    assert_true(options.programs.front().python == tutti::launch::Python::Never);
    expect_refusal({"program"}, "PET_NNODES is \"many\"", {{"PET_NNODES", "many"}});
    expect_refusal({"program"}, "PET_STANDALONE is \"yes\", not 0 or 1",
                   {{"PET_STANDALONE", "yes"}});
    // Said on the command line, it is meant for this job.
    assert_int_equal(parse({"--standalone", "program"}, variables).nnodes, 1);
    assert_true(parse({"--help"}, {{"PET_NNODES", "many"}}).action == Options::Action::Help);
}

void nodes_meet_at_the_endpoint_or_the_master(void**) {
    expect_endpoint(parse({"--nnodes=2", "program"}), "127.0.0.1", 29'500);
    expect_endpoint(parse({"--nnodes=2:2", "--rdzv-endpoint=host", "program"}), "host", 29'400);
    expect_endpoint(parse({"--nnodes=2", "--rdzv-endpoint=[::1]:5", "program"}), "::1", 5);
    expect_endpoint(parse({"--nnodes=2", "--rdzv-endpoint=fe80::1", "program"}), "fe80::1", 29'400);
    const auto options = parse({"--nnodes=2", "--rdzv_backend=c10d", "program"});
    assert_true(options.backend == Backend::Arrival);
    assert_false(options.node_rank.has_value());
    assert_int_equal(options.endpoint.port, 29'400);
    for (const char* endpoint : {"", ":5", "[::1", "[::1]5", "host:", "host:x", "host:65536"}) {
        expect_refusal({"--rdzv-endpoint", endpoint, "program"}, "--rdzv-endpoint is \"");
    }
}

void what_cannot_be_is_refused_with_its_reason(void**) {
    expect_refusal({"--nnodes=1:4", "program"}, "elastic sizes are not supported");
    expect_refusal({"--nnodes=2", "--node-rank=2", "program"}, "not below --nnodes, 2");
    expect_refusal({"--nnodes=2", "--node-rank=1", "--master-port=0", "program"}, "port 0 is for");
    expect_refusal({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=a:0", "program"},
                   "port 0 is for");
    expect_refusal({"--rdzv-backend=etcd", "program"}, "\"etcd\": there are static and c10d");
    expect_refusal({"--standalone", "--master-port=1", "program"}, "--standalone chooses");
    expect_refusal({"--standalone", "--rdzv-endpoint=a", "program"}, "--standalone chooses");
    expect_refusal({"--standalone", "--nnodes=2", "program"}, "--standalone is for one node");
    expect_refusal({"-m", "--no-python", "package.module"}, "--module, --run-path and --no-python");
    expect_refusal({"-m", "--run-path", "package.module"}, "--module, --run-path and --no-python");
    expect_refusal({"--local-addr=", "program"}, "--local-addr is empty");
    for (const char* id : {"", ".", "..", "a/b"}) {
        expect_refusal({"--rdzv-id", id, "program"}, "cannot name a folder");
    }
}

void the_rendezvous_is_configured_by_keys(void**) {
    const auto times = parse({"--rdzv-conf=join_timeout=7,keep_alive_interval=2,"
                              "keep_alive_max_attempt=4",
                              "program"})
                           .times;
    assert_int_equal(times.join_ms, 7'000);
    assert_int_equal(times.lost_ms(), 8'000);
    assert_int_equal(parse({"--rdzv-conf", "timeout=9", "program"}).times.join_ms, 9'000);
    expect_refusal({"--rdzv-conf=colour=red", "program"}, "\"colour\" is not known; there are");
    expect_refusal({"--rdzv-conf=timeout", "program"}, "is not KEY=VALUE");
    expect_refusal({"--rdzv-conf=timeout=soon", "program"}, "timeout in --rdzv-conf is \"soon\"");
}

void streams_are_chosen_for_all_ranks_or_by_rank(void**) {
    const auto both = parse({"--tee=3", "program"}).tee;
    assert_true(both.has(0, 1) && both.has(5, 2));
    const auto some = parse({"--nproc-per-node=4", "--redirects=0:1,2:3,3:0", "program"}).redirects;
    assert_true(some.has(0, 1) && !some.has(0, 2));
    assert_true(some.has(2, 1) && some.has(2, 2));
    assert_false(some.has(1, 1) || some.has(3, 1));
    assert_true(parse({"--tee=0:0", "program"}).tee.empty());
    for (const char* value : {"", "4", "x", "0:4", "0:1,2", "a:1"}) {
        expect_refusal({"--tee", value, "program"}, "--tee");
    }
    assert_true(
        parse({"--local-ranks-filter=0,3", "--nproc-per-node=4", "program"}).local_ranks_filter ==
        std::set<int>({0, 3}));
    expect_refusal({"--local-ranks-filter=0,x", "program"}, "a local rank of --local-ranks-filter");
}

void local_ranks_that_this_node_has_not_are_refused(void**) {
    expect_refusal({"--nproc-per-node=2", "-t", "5:1", "program"},
                   "--tee names local rank 5, and --nproc-per-node is 2: local ranks are 0 to 1");
    expect_refusal({"-r", "0:1,2:3", "--nproc-per-node=2", "program"},
                   "--redirects names local rank 2");
    expect_refusal({"--local-ranks-filter=1", "program"},
                   "--local-ranks-filter names local rank 1");
    parse({"-t=1:1", "--local-ranks-filter=1", "program"}, {{"PET_NPROC_PER_NODE", "2"}});
}

void ranks_are_bound_to_what_is_named(void**) {
    const auto options = parse({"--bind-to=core", "program"});
    assert_true(options.bind_to == BindTo::Core);
    assert_int_equal(options.processors.size(), 1);
    assert_true(parse({"--bind_to", "numa", "program"}).bind_to == BindTo::Numa);
    assert_true(parse({"--bind-to=none", "program"}, {{"PET_BIND_TO", "core"}}).bind_to ==
                BindTo::None);
    expect_refusal({"--bind-to=socket", "program"},
                   "--bind-to is \"socket\": there are core, numa and none");
    expect_refusal({"--bind-to=core", "--nproc-per-node=4096", "program"},
                   "4096 ranks on this node need a core each, and tuttirun may use ");
}

void what_follows_from_a_failure_is_named(void**) {
    using tutti::launch::OnFailure;
    assert_true(parse({"--on-failure=shrink", "program"}).on_failure == OnFailure::Shrink);
    const auto restarting = parse({"--on-failure=restart", "--max-restarts=2", "program"});
    assert_true(restarting.on_failure == OnFailure::Restart && restarting.max_restarts == 2);
    const auto ending = parse({"--on_failure", "kill", "--max-restarts=2", "program"});
    assert_true(ending.on_failure == OnFailure::Kill && ending.max_restarts == 0);
    expect_refusal({"--on-failure=ignore", "program"},
                   "--on-failure is \"ignore\": there are restart, shrink and kill");
}

void signals_are_named(void**) {
    assert_true(parse({"--signals-to-handle=SIGUSR1,TERM", "program"}).signals ==
                std::vector<int>({SIGUSR1, SIGTERM}));
    expect_refusal({"--signals-to-handle=SIGFOO", "program"}, "there is no signal \"SIGFOO\"");
    expect_refusal({"--signals-to-handle=SIGKILL", "program"}, "SIGKILL cannot be passed on");
}

void what_has_no_meaning_here_is_taken_and_has_no_effect(void**) {
    expect_command(
        parse({"--start-method=spawn", "--use-env", "--monitor-interval", "0.1", "program"}),
        {"program"});
}

// All that options can change, as text.
std::string show(const Options& options) {
    std::string text = tutti::cat(
        options.nnodes, " ", show_programs(options), " ", static_cast<int>(options.backend), " ",
        options.node_rank.value_or(-1), " ", options.endpoint.host, " ", options.endpoint.port, " ",
        options.times.join_ms, " ", options.times.pulse_ms, " ", options.local_addr, " ",
        static_cast<int>(options.bind_to), " ", options.run_id, " ",
        static_cast<int>(options.on_failure), " ", options.max_restarts, " ",
        options.shutdown_timeout_ms, " ", options.log_dir, " ");
    text += tutti::cat(options.redirects.everyone, options.tee.everyone, options.prefixes);
    for (const int rank : options.local_ranks_filter) text += tutti::cat(" ", rank);
    for (const int signal : options.signals) text += tutti::cat(" ", signal);
    return text;
}

void every_option_also_comes_from_the_environment(void**) {
    const auto plain = show(parse({"program"}));
    const char* const changes[][3] = {{"--nnodes", "PET_NNODES", "2"},
                                      {"--nproc-per-node", "PET_NPROC_PER_NODE", "3"},
                                      {"--bind-to", "PET_BIND_TO", "numa"},
                                      {"--master-addr", "PET_MASTER_ADDR", "a"},
                                      {"--master-port", "PET_MASTER_PORT", "7"},
                                      {"--rdzv-backend", "PET_RDZV_BACKEND", "c10d"},
                                      {"--rdzv-endpoint", "PET_RDZV_ENDPOINT", "b:8"},
                                      {"--rdzv-id", "PET_RDZV_ID", "job"},
                                      {"--rdzv-conf", "PET_RDZV_CONF", "join_timeout=5"},
                                      {"--local-addr", "PET_LOCAL_ADDR", "c"},
                                      {"--role", "PET_ROLE", "trainer"},
                                      {"--on-failure", "PET_ON_FAILURE", "shrink"},
                                      {"--max-restarts", "PET_MAX_RESTARTS", "4"},
                                      {"--shutdown-timeout", "PET_SHUTDOWN_TIMEOUT", "6"},
                                      {"--log-dir", "PET_LOG_DIR", "/logs"},
                                      {"--redirects", "PET_REDIRECTS", "1"},
                                      {"--tee", "PET_TEE", "2"},
                                      {"--local-ranks-filter", "PET_LOCAL_RANKS_FILTER", "0"},
                                      {"--signals-to-handle", "PET_SIGNALS_TO_HANDLE", "USR1"}};
    for (const auto& [option, variable, value] : changes) {
        const auto told = show(parse({"program"}, {{variable, value}}));
        if (told == plain) fail_msg("%s changes nothing", variable);
        assert_string_equal(told.c_str(), show(parse({option, value, "program"})).c_str());
    }
    const char* const flags[][2] = {{"--module", "PET_MODULE"},
                                    {"--run-path", "PET_RUN_PATH"},
                                    {"--no-python", "PET_NO_PYTHON"},
                                    {"--no-prefix", "PET_NO_PREFIX"}};
    for (const auto& [option, variable] : flags) {
        const auto told = show(parse({"program"}, {{variable, "1"}}));
        assert_string_not_equal(told.c_str(), plain.c_str());
        assert_string_equal(told.c_str(), show(parse({option, "program"})).c_str());
    }
    assert_int_equal(*parse({"--nnodes=3", "program"}, {{"PET_NODE_RANK", "2"}}).node_rank, 2);
    assert_int_equal(parse({"program"}, {{"PET_STANDALONE", "1"}}).endpoint.port, 0);
    for (const char* name : {"PET_MONITOR_INTERVAL", "PET_START_METHOD"}) {
        assert_string_equal(show(parse({"program"}, {{name, "5"}})).c_str(), plain.c_str());
    }
}

void programs_of_python_are_told_by_options(void**) {
    using tutti::launch::Python;
    assert_true(parse({"program"}).programs.front().python == Python::Scripts);
    assert_true(parse({"--no-python", "program"}).programs.front().python == Python::Never);
    assert_true(parse({"--run-path", "program"}).programs.front().python == Python::File);
    assert_true(parse({"-m", "package.module"}).programs.front().python == Python::Module);
    assert_true(parse({"package.module"}, {{"PET_MODULE", "1"}}).programs.front().python ==
                Python::Module);
    assert_true(parse({"program"}, {{"PET_RUN_PATH", "1"}}).programs.front().python ==
                Python::File);
    assert_true(parse({"program"}, {{"PET_MODULE", "0"}}).programs.front().python ==
                Python::Scripts);
    assert_string_equal(parse({"program"}, {{"PET_LOCAL_ADDR", "here"}}).local_addr.c_str(),
                        "here");
}

void help_and_version_need_no_program(void**) {
    assert_true(parse({"--help"}).action == Options::Action::Help);
    assert_true(parse({"-h"}).action == Options::Action::Help);
    assert_true(parse({"--version"}).action == Options::Action::Version);
    assert_true(parse({"--settings"}).action == Options::Action::Settings);
}

void help_names_every_option(void**) {
    const auto help = tutti::launch::help_text();
    for (const char* name : {"--nnodes N ",
                             "--nproc-per-node N ",
                             "--bind-to WHAT ",
                             "--node-rank R ",
                             "--standalone ",
                             "--master-addr ADDRESS ",
                             "--master-port PORT ",
                             "--rdzv-backend ",
                             "--rdzv-endpoint ",
                             "--rdzv-id ",
                             "--rdzv-conf ",
                             "--on-failure WHAT ",
                             "--max-restarts ",
                             "--role ",
                             "--log-dir ",
                             "-r, --redirects ",
                             "-t, --tee ",
                             "--local-ranks-filter ",
                             "--no-prefix ",
                             "--signals-to-handle ",
                             "--shutdown-timeout SECONDS ",
                             "--no-python ",
                             "-m, --module ",
                             "--run-path ",
                             "--local-addr ADDRESS ",
                             "keep_alive_max_attempt ",
                             "--monitor-interval ",
                             "--start-method ",
                             "-h, --help ",
                             "--settings ",
                             "--version "}) {
        if (help.find(name) == std::string::npos) fail_msg("%s is not in the help", name);
    }
}

void what_is_malformed_is_named(void**) {
    expect_refusal({"--frobnicate", "program"}, "unknown option --frobnicate");
    expect_refusal({"-n", "4", "program"}, "unknown option -n");
    expect_refusal({"--nproc-per-node"}, "--nproc-per-node needs a value");
    for (const char* value : {"0", "-1", "four", "", "4097", "2x"}) {
        expect_refusal({"--nproc-per-node", value, "program"},
                       tutti::cat("--nproc-per-node is \"", value,
                                  "\", not a whole number from 1 to 4096, cpu, gpu or auto"));
    }
    expect_refusal({"--master-port=65536", "program"}, "--master-port is \"65536\"");
    expect_refusal({"--master-addr=", "program"}, "--master-addr is empty");
    expect_refusal({"--standalone=yes", "program"}, "--standalone takes no value");
    for (const auto& arguments : {std::initializer_list<const char*>{}, {"--"}, {"--standalone"}}) {
        expect_refusal(arguments, "the program to run is missing");
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        TUTTI_TEST(a_program_alone_gets_the_defaults),
        TUTTI_TEST(values_follow_a_space_or_an_equals_sign),
        TUTTI_TEST(names_are_joined_by_dashes_or_underscores),
        TUTTI_TEST(options_after_the_program_belong_to_it),
        TUTTI_TEST(every_option_may_come_from_the_environment_and_the_command_line_wins),
        TUTTI_TEST(nodes_meet_at_the_endpoint_or_the_master),
        TUTTI_TEST(what_cannot_be_is_refused_with_its_reason),
        TUTTI_TEST(the_rendezvous_is_configured_by_keys),
        TUTTI_TEST(streams_are_chosen_for_all_ranks_or_by_rank),
        TUTTI_TEST(local_ranks_that_this_node_has_not_are_refused),
        TUTTI_TEST(ranks_are_bound_to_what_is_named),
        TUTTI_TEST(what_follows_from_a_failure_is_named),
        TUTTI_TEST(signals_are_named),
        TUTTI_TEST(what_has_no_meaning_here_is_taken_and_has_no_effect),
        TUTTI_TEST(every_option_also_comes_from_the_environment),
        TUTTI_TEST(programs_of_python_are_told_by_options),
        TUTTI_TEST(help_and_version_need_no_program),
        TUTTI_TEST(help_names_every_option),
        TUTTI_TEST(what_is_malformed_is_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
