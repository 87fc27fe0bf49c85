// The table of options. Any thread.
#include "option_table.hpp"

#include <array>
#include <climits>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "limits.hpp"
#include "processors.hpp"

namespace tutti::launch {

namespace {

using Text = const std::string&;

int number(Text value, Text what, int64_t lowest, int64_t highest) {
    return static_cast<int>(parse_number(value, what, lowest, highest));
}

void no_effect(Parsed&, Text, Text) {}

// A folder is made of it.
void set_run_id(Parsed& parsed, Text value, Text what) {
    if (value.empty() || value == "." || value == ".." || value.find('/') != std::string::npos) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(what, " is \"", value, "\", which cannot name a folder"));
    }
    parsed.options.run_id = value;
}

void refuse_empty(Text value, Text what) {
    if (value.empty()) throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, " is empty"));
}

constexpr OptionRow heading(const char* text) {
    return {nullptr, 0, nullptr, text, nullptr};
}

constexpr std::array table{
    heading("What to start"),
    OptionRow{"--nproc-per-node", 0, "N",
              "number of processes on this node: N, cpu, gpu or auto (1)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.program.program.count = parse_process_count(value, what);
              },
              Scope::Program},
    OptionRow{"--bind-to", 0, "WHAT", "bind each rank to processors: core, numa or none (none)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.bind_to = parse_bind_to(value, what);
              }},
    OptionRow{"--role", 0, "NAME", "value of ROLE_NAME for these ranks (default)",
              [](Parsed& parsed, Text value, Text) { parsed.program.program.role = value; },
              Scope::Program},
    OptionRow{"--module", 'm', nullptr, "the program is a Python module",
              [](Parsed& parsed, Text, Text) { parsed.program.module = true; }, Scope::Program},
    OptionRow{"--run-path", 0, nullptr, "the program is a Python file with any name",
              [](Parsed& parsed, Text, Text) { parsed.program.run_path = true; }, Scope::Program},
    OptionRow{"--no-python", 0, nullptr, "execute file.py directly, without python3",
              [](Parsed& parsed, Text, Text) { parsed.program.no_python = true; }, Scope::Program},
    OptionRow{"--start-method", 0, "NAME", "no effect: tuttirun starts programs with exec",
              no_effect},
    OptionRow{"--use-env", 0, nullptr, "no effect: LOCAL_RANK is always set", no_effect},

    heading("Several nodes (start tuttirun once on each)"),
    OptionRow{"--nnodes", 0, "N", "number of nodes (1)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.nnodes = parse_nodes(value, what);
              }},
    OptionRow{"--node-rank", 0, "R", "rank of this node (0; c10d: in order of arrival)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.node_rank = number(value, what, 0, limits::nodes - 1);
              }},
    OptionRow{"--master-addr", 0, "ADDRESS", "address of the store on node 0 (127.0.0.1)",
              [](Parsed& parsed, Text value, Text what) {
                  refuse_empty(value, what);
                  parsed.master_addr = value;
              }},
    OptionRow{"--master-port", 0, "PORT", "port of the store (29500; any free port with one node)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.master_port = number(value, what, 0, limits::port);
              }},
    OptionRow{"--rdzv-backend", 0, "NAME",
              "static: you set node ranks; c10d: nodes get them (static)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.backend = parse_backend(value, what);
              }},
    OptionRow{"--rdzv-endpoint", 0, "HOST[:PORT]",
              "address of the rendezvous and of the store (port 29400)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.endpoint = parse_endpoint(value, what, default_rendezvous_port);
              }},
    OptionRow{"--rdzv-id", 0, "ID", "name of the job, the same on all nodes (none)", set_run_id},
    OptionRow{"--rdzv-conf", 0, "K=V,...", "timeouts, see below",
              [](Parsed& parsed, Text value, Text what) {
                  parse_times(value, what, parsed.options.times);
              }},
    OptionRow{"--local-addr", 0, "ADDRESS", "name of this node (its host name)",
              [](Parsed& parsed, Text value, Text what) {
                  refuse_empty(value, what);
                  parsed.options.local_addr = value;
              }},
    OptionRow{"--standalone", 0, nullptr, "one node, any free port; this is the default",
              [](Parsed& parsed, Text, Text) { parsed.standalone = true; }},

    heading("Output"),
    OptionRow{"--log-dir", 0, "FOLDER", "folder of log and error files (a temporary one)",
              [](Parsed& parsed, Text value, Text) { parsed.options.log_dir = value; }},
    OptionRow{"--redirects", 'r', "S", "send streams to files only: 1 stdout, 2 stderr, 3 both",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.redirects = parse_streams(value, what);
              }},
    OptionRow{"--tee", 't', "S", "also send streams to files; 0:1,1:3 is by local rank",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.tee = parse_streams(value, what);
              }},
    OptionRow{"--local-ranks-filter", 0, "R,...", "show the output of these local ranks only",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.local_ranks_filter = parse_ranks(value, what);
              }},
    OptionRow{"--no-prefix", 0, nullptr, "show the output as it is, without [rank N]",
              [](Parsed& parsed, Text, Text) { parsed.options.prefixes = false; }},

    heading("Failures and signals"),
    OptionRow{"--on-failure", 0, "WHAT",
              "if a rank fails: restart, shrink or kill, see below (restart)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.on_failure = parse_on_failure(value, what);
              }},
    OptionRow{"--max-restarts", 0, "N", "restart all ranks after a failure, up to N times (0)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.max_restarts = number(value, what, 0, limits::restarts);
              }},
    OptionRow{"--shutdown-timeout", 0, "SECONDS",
              "time from SIGTERM to SIGKILL when ending ranks (5)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.shutdown_timeout_ms =
                      1'000 * parse_number(value, what, 0, limits::seconds);
              }},
    OptionRow{"--signals-to-handle", 0, "S,...",
              "signals to forward (SIGTERM,SIGINT,SIGHUP,SIGQUIT)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.signals = parse_signals(value, what);
              }},
    OptionRow{"--monitor-interval", 0, "SECONDS", "no effect: tuttirun notices exits at once",
              no_effect},

    heading("Ranks of a job that runs (in another terminal)"),
    OptionRow{"--attach", 0, "RANK", "gdb on the process of that rank",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.action = Options::Action::Attach;
                  parsed.options.inspection.ranks = {number(value, what, 0, INT_MAX)};
              }},
    OptionRow{"--stacks", 0, nullptr, "show the stacks of all ranks, or of those that follow",
              [](Parsed& parsed, Text, Text) { parsed.options.action = Options::Action::Stacks; }},
    OptionRow{"--job", 0, "PID", "the job of this tuttirun (the only job of this user)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.inspection.job = number(value, what, 1, INT_MAX);
              }},

    heading("About tuttirun"),
    OptionRow{"--help", 'h', nullptr, "show this text",
              [](Parsed& parsed, Text, Text) { parsed.options.action = Options::Action::Help; }},
    OptionRow{
        "--settings", 0, nullptr, "show every setting, its value and where it comes from",
        [](Parsed& parsed, Text, Text) { parsed.options.action = Options::Action::Settings; }},
    OptionRow{"--version", 0, nullptr, "show the version",
              [](Parsed& parsed, Text, Text) { parsed.options.action = Options::Action::Version; }},
};

}  // namespace

std::span<const OptionRow> option_table() {
    return table;
}

}  // namespace tutti::launch
