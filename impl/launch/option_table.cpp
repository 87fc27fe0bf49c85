// The table of options. Any thread.
#include "option_table.hpp"

#include <array>

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

[[noreturn]] void business_of_python(Text what, const char* instead) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                cat(what, " is Python's own business: let tuttirun start \"", instead, "\""));
}

// A folder is made of it.
void set_run_id(Parsed& parsed, Text value, Text what) {
    if (value.empty() || value == "." || value == ".." || value.find('/') != std::string::npos) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(what, " is \"", value, "\", which cannot name a folder"));
    }
    parsed.options.run_id = value;
}

constexpr std::array table{
    OptionRow{"--nnodes", 0, "N", "how many nodes there are (1)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.nnodes = parse_nodes(value, what);
              }},
    OptionRow{"--nproc-per-node", 0, "N", "processes to start here: a number, cpu, gpu, auto (1)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.nproc_per_node = parse_process_count(value, what);
              }},
    OptionRow{"--node-rank", 0, "R", "which of the nodes this is (0; c10d: as they arrive)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.node_rank = number(value, what, 0, limits::nodes - 1);
              }},
    OptionRow{"--standalone", 0, nullptr, "one node, any free port: the default, spelled out",
              [](Parsed& parsed, Text, Text) { parsed.standalone = true; }},
    OptionRow{"--master-addr", 0, "ADDRESS", "where node 0 serves the store (127.0.0.1)",
              [](Parsed& parsed, Text value, Text what) {
                  if (value.empty()) {
                      throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, " is empty"));
                  }
                  parsed.master_addr = value;
              }},
    OptionRow{"--master-port", 0, "PORT", "the store's port (29500; one node: any free one)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.master_port = number(value, what, 0, limits::port);
              }},
    OptionRow{"--rdzv-backend", 0, "NAME", "static: nodes know their rank; c10d: they get one",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.backend = parse_backend(value, what);
              }},
    OptionRow{"--rdzv-endpoint", 0, "HOST[:PORT]",
              "where the nodes meet, and the store is (:29400)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.endpoint = parse_endpoint(value, what, default_rendezvous_port);
              }},
    OptionRow{"--rdzv-id", 0, "ID", "the job's name, the same on every node (none)", set_run_id},
    OptionRow{"--rdzv-conf", 0, "K=V,...", "timeout, join_timeout, keep_alive_...: seconds",
              [](Parsed& parsed, Text value, Text what) {
                  parse_times(value, what, parsed.options.times);
              }},
    OptionRow{"--max-restarts", 0, "N", "times to start all ranks again after a failure (0)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.max_restarts = number(value, what, 0, limits::restarts);
              }},
    OptionRow{"--role", 0, "NAME", "ROLE_NAME of this node's ranks (default)",
              [](Parsed& parsed, Text value, Text) { parsed.options.role = value; }},
    OptionRow{"--log-dir", 0, "FOLDER", "where log and error files go (a temporary folder)",
              [](Parsed& parsed, Text value, Text) { parsed.options.log_dir = value; }},
    OptionRow{"--redirects", 'r', "S", "to files instead: 1 stdout, 2 stderr, 3 both; 0:1,1:3",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.redirects = parse_streams(value, what);
              }},
    OptionRow{"--tee", 't', "S", "to files as well, in the same words",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.tee = parse_streams(value, what);
              }},
    OptionRow{"--local-ranks-filter", 0, "R,...", "show the output of these local ranks alone",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.local_ranks_filter = parse_ranks(value, what);
              }},
    OptionRow{"--signals-to-handle", 0, "S,...", "passed on (SIGTERM,SIGINT,SIGHUP,SIGQUIT)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.signals = parse_signals(value, what);
              }},
    OptionRow{"--shutdown-timeout", 0, "SECONDS",
              "from SIGTERM to SIGKILL when ranks are ended (5)",
              [](Parsed& parsed, Text value, Text what) {
                  parsed.options.shutdown_timeout_ms =
                      1'000 * parse_number(value, what, 0, limits::seconds);
              }},
    OptionRow{"--no-python", 0, nullptr, "do not give a file.py that is no program to python3",
              [](Parsed& parsed, Text, Text) { parsed.options.python = false; }},
    OptionRow{"--module", 'm', nullptr, "refused: start \"python3 -m MODULE\"",
              [](Parsed&, Text, Text what) { business_of_python(what, "python3 -m MODULE"); }},
    OptionRow{"--run-path", 0, nullptr, "refused: start \"python3 SCRIPT\"",
              [](Parsed&, Text, Text what) { business_of_python(what, "python3 SCRIPT"); }},
    OptionRow{"--monitor-interval", 0, "SECONDS", "no effect: endings are seen at once", no_effect},
    OptionRow{"--start-method", 0, "NAME", "no effect: programs are started by exec", no_effect},
    OptionRow{"--help", 'h', nullptr, "show this text",
              [](Parsed& parsed, Text, Text) { parsed.options.action = Options::Action::Help; }},
    OptionRow{"--version", 0, nullptr, "show the version",
              [](Parsed& parsed, Text, Text) { parsed.options.action = Options::Action::Version; }},
};

}  // namespace

std::span<const OptionRow> option_table() {
    return table;
}

}  // namespace tutti::launch
