// The options of tuttirun, as a value: its command line, and the PET_ variables that stand in for
// it. Any thread; "cpu", "gpu" and --bind-to look at this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "net/address.hpp"
#include "option_values.hpp"
#include "processors.hpp"

namespace tutti::launch {

// The programs that are given to Python: a file.py that is no program, every file, a module, or
// none.
enum class Python { Scripts, File, Module, Never };

// A program and its ranks: a part of the command line, between two ":".
struct Program {
    int count = 1;  // of its ranks on this node
    std::string role = "default";
    Python python = Python::Scripts;
    std::vector<std::string> command;  // the program and its arguments
};

// An option that was set, as it was written.
struct GivenOption {
    std::string name;
    std::string value;
    bool is_by_environment = false;
};

// A look at a job that another tuttirun has started.
struct Inspection {
    std::optional<int> job;              // the process of that tuttirun; nothing: there is only one
    std::vector<int> ranks;              // for a debugger: one; for stacks: none means all
    std::vector<std::string> arguments;  // of the debugger
};

struct Options {
    enum class Action { Run, Help, Version, Settings, Attach, Stacks };

    Action action = Action::Run;
    Inspection inspection;
    int nnodes = 1;
    std::vector<Program> programs;  // of this node
    BindTo bind_to = BindTo::None;
    std::vector<ProcessorSet> processors;  // by local rank; empty: the ranks are not bound
    Backend backend = Backend::Static;
    std::optional<int> node_rank;  // nothing: by order of arrival
    // Where the store listens and the nodes meet; port 0: any free one.
    net::Endpoint endpoint{"127.0.0.1", 0};
    RendezvousTimes times;
    std::string local_addr;  // empty: the host's name
    std::string run_id = "none";
    OnFailure on_failure = OnFailure::Restart;
    int max_restarts = 0;  // 0 with OnFailure::Kill
    int64_t shutdown_timeout_ms = 5'000;
    std::string log_dir;  // empty: a temporary folder
    StreamChoice redirects;
    StreamChoice tee;
    std::set<int> local_ranks_filter;  // empty: all
    bool prefixes = true;              // of the lines that are shown
    std::vector<int> signals;          // to handle
    std::vector<GivenOption> given;    // in the order in which they were read: the last one counts
    std::string notice;                // to be said at the start; may be empty
};

// The number of ranks of this node.
int local_size(const Options& options);

// Whether a rank that fails leaves the others alone.
inline bool goes_on(const Options& options) {
    return options.on_failure == OnFailure::Shrink;
}

// The value of an environment variable; nothing if not set or empty.
using Lookup = std::function<std::optional<std::string>(const char* name)>;

// Words in names may be joined by - or _, values by = or a space. --some-option may also come from
// PET_SOME_OPTION, which is the first program's if it is a program's. A lone ":" ends a program's
// arguments, unless "--" stands before the program. INVALID_ARGUMENT names the option or the
// variable that is unknown, malformed or lacks its value, or the program that is missing.
Options parse_options(std::span<const char* const> arguments, const Lookup& lookup);

}  // namespace tutti::launch
