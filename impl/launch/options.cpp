// The command line of tuttirun, and the variables PET_NAME: the parser over the table of options.
// Any thread.
#include "options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <csignal>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "binding.hpp"
#include "limits.hpp"
#include "option_table.hpp"

namespace tutti::launch {

namespace {

constexpr int default_master_port = 29'500;

// An argument that stands between two programs.
constexpr std::string_view separator = ":";
constexpr const char* way_to_pass_a_separator =
    "; \"--\" before a program passes it all that follows, \":\" as well";

// `is_first`: of the command line's programs.
const OptionRow& find_option(std::string name, bool is_first) {
    std::replace(name.begin(), name.end(), '_', '-');
    for (const auto& row : option_table()) {
        if (row.name == nullptr) continue;
        if (name != row.name && (row.letter == 0 || name != cat("-", row.letter))) continue;
        if (is_first || row.scope == Scope::Program) return row;
        refuse(row.name,
               " is of the whole job: it stands before the first program, not after \":\"");
    }
    if (is_first) refuse("unknown option ", name);
    refuse("unknown option ", name, " after \":\"", way_to_pass_a_separator);
}

// "--nproc-per-node" is PET_NPROC_PER_NODE.
std::string variable_of(const OptionRow& row) {
    std::string name = cat("PET_", std::string(row.name).substr(2));
    std::replace(name.begin(), name.end(), '-', '_');
    for (char& letter : name) letter = static_cast<char>(std::toupper(letter));
    return name;
}

void read_environment(Parsed& parsed, const Lookup& lookup) {
    for (const auto& row : option_table()) {
        if (row.name == nullptr) continue;
        const auto name = variable_of(row);
        const auto value = lookup(name.c_str());
        if (!value) continue;
        parsed.options.given.push_back({row.name, *value, true});
        if (row.value != nullptr) {
            row.apply(parsed, *value, name);
        } else if (*value == "1") {
            row.apply(parsed, "", name);
        } else if (*value != "0") {
            refuse(name, " is \"", *value, "\", not 0 or 1");
        }
    }
}

// --standalone, said on the command line, outdoes what the environment says of nodes.
Lookup without_place(const Lookup& lookup) {
    return [&lookup](const char* name) -> std::optional<std::string> {
        constexpr std::array<std::string_view, 5> places{"PET_MASTER_ADDR", "PET_MASTER_PORT",
                                                         "PET_RDZV_ENDPOINT", "PET_NNODES",
                                                         "PET_NODE_RANK"};
        if (std::find(places.begin(), places.end(), name) != places.end()) return std::nullopt;
        return lookup(name);
    };
}

// Where a program begins.
struct Start {
    size_t index = 0;
    bool is_last = false;  // what follows is all its own
};

Start read_arguments(Parsed& parsed, std::span<const char* const> arguments, bool is_first) {
    size_t next = 0;
    while (next < arguments.size()) {
        const std::string argument = arguments[next];
        if (!argument.starts_with('-')) break;
        ++next;
        if (argument == "--") return {next, true};
        const auto equals = argument.find('=');
        const OptionRow& row = find_option(argument.substr(0, equals), is_first);
        std::string value;
        if (row.value == nullptr) {
            if (equals != std::string::npos) refuse(row.name, " takes no value");
        } else if (equals != std::string::npos) {
            value = argument.substr(equals + 1);
        } else {
            if (next == arguments.size() || arguments[next] == separator) {
                refuse(row.name, " needs a value");
            }
            value = arguments[next++];
        }
        row.apply(parsed, value, row.name);
        parsed.options.given.push_back({row.name, row.value == nullptr ? "1" : value, false});
    }
    return {next, false};
}

Python choose_python(const ParsedProgram& parsed) {
    const int chosen = int{parsed.module} + int{parsed.run_path} + int{parsed.no_python};
    if (chosen > 1) refuse("of --module, --run-path and --no-python one can be given");
    if (parsed.module) return Python::Module;
    if (parsed.run_path) return Python::File;
    return parsed.no_python ? Python::Never : Python::Scripts;
}

// A program that once got ":" as an argument must not be cut in two unseen.
void notice_program_without_options(Options& options, std::span<const char* const> command) {
    if (command.empty() || !options.notice.empty()) return;
    options.notice = cat("\"", command.front(), "\" follows \":\" and is a program with one rank",
                         way_to_pass_a_separator);
}

// Each program with the options before it. Those of the first are partly there, by variables.
void read_programs(Parsed& parsed, std::span<const char* const> arguments) {
    Options& options = parsed.options;
    for (;; parsed.program = {}) {
        const bool is_first = options.programs.empty();
        const Start start = read_arguments(parsed, arguments, is_first);
        arguments = arguments.subspan(start.index);
        const auto end = start.is_last ? arguments.end() : std::ranges::find(arguments, separator);
        const auto size = static_cast<size_t>(end - arguments.begin());
        if (!is_first && start.index == 0) {
            notice_program_without_options(options, arguments.first(size));
        }
        Program& program = parsed.program.program;
        program.python = choose_python(parsed.program);
        program.command.assign(arguments.begin(), end);
        options.programs.push_back(std::move(program));
        if (end == arguments.end()) return;
        arguments = arguments.subspan(size + 1);
    }
}

// One node takes any free port; several must know it beforehand.
void choose_endpoint(Parsed& parsed) {
    Options& options = parsed.options;
    const bool arrival = options.backend == Backend::Arrival;
    if (parsed.endpoint) {
        options.endpoint = *parsed.endpoint;
        return;
    }
    if (!parsed.master_addr.empty()) options.endpoint.host = parsed.master_addr;
    const int usual = arrival ? default_rendezvous_port : default_master_port;
    options.endpoint.port = parsed.master_port.value_or(options.nnodes == 1 ? 0 : usual);
}

void check_nodes(const Options& options) {
    const auto rank = options.node_rank.value_or(0);
    if (rank >= options.nnodes) {
        refuse("--node-rank is ", rank, ", not below --nnodes, ", options.nnodes);
    }
    const bool told = options.backend == Backend::Static && rank == 0;
    if (options.nnodes > 1 && options.endpoint.port == 0 && !told) {
        refuse(
            "port 0 is for node 0 of --rdzv-backend static alone: it names the port that it "
            "got, and the other nodes must be given that");
    }
}

// Checked last: only then the number of this node's ranks is known.
void check_local_ranks(const Options& options) {
    const int size = local_size(options);
    const char* all = options.programs.size() > 1 ? "the sum of all " : "";
    const auto check = [&](const char* option, int rank) {
        if (rank < size) return;
        refuse(option, " names local rank ", rank, ", and ", all, "--nproc-per-node is ", size,
               ": local ranks are 0 to ", size - 1);
    };
    for (const auto& [rank, streams] : options.redirects.ranks) check("--redirects", rank);
    for (const auto& [rank, streams] : options.tee.ranks) check("--tee", rank);
    for (const int rank : options.local_ranks_filter) check("--local-ranks-filter", rank);
}

void check_standalone(const Parsed& parsed) {
    if (!parsed.master_addr.empty() || parsed.master_port || parsed.endpoint) {
        refuse(
            "--standalone chooses address and port itself: leave --master-addr, --master-port "
            "and --rdzv-endpoint away");
    }
    if (parsed.options.nnodes != 1) refuse("--standalone is for one node, not --nnodes");
}

void check_programs(const Options& options) {
    const auto& programs = options.programs;
    const auto missing = std::ranges::find_if(
        programs, [](const Program& program) { return program.command.empty(); });
    if (missing != programs.end()) {
        if (programs.size() == 1) refuse("the program to run is missing");
        if (missing == programs.begin()) refuse("the program before the first \":\" is missing");
        const bool is_last = missing + 1 == programs.end();
        refuse("the program ", is_last ? "after the last \":\"" : "between two \":\"",
               " is missing", way_to_pass_a_separator);
    }
    const int size = local_size(options);
    if (size > limits::processes) {
        refuse("the sum of all --nproc-per-node is ", size, ", not a whole number from 1 to ",
               limits::processes);
    }
}

// Follows the options: arguments of the debugger, or the ranks whose stacks are wanted.
void read_inspection(Options& options, std::span<const char* const> rest) {
    if (options.action == Options::Action::Attach) {
        options.inspection.arguments.assign(rest.begin(), rest.end());
    } else if (options.action == Options::Action::Stacks) {
        for (const char* const rank : rest) {
            options.inspection.ranks.push_back(
                static_cast<int>(parse_number(rank, "a rank of --stacks", 0, INT_MAX)));
        }
    }
}

}  // namespace

int local_size(const Options& options) {
    int size = 0;
    for (const auto& program : options.programs) size += program.count;
    return size;
}

Options parse_options(std::span<const char* const> arguments, const Lookup& lookup) {
    Parsed parsed;
    parsed.options.signals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    // A request for help, or for another job, on the command line is granted whatever the
    // environment says.
    Parsed spoken = parsed;
    const Start rest = read_arguments(spoken, arguments, true);
    using Action = Options::Action;
    const Action action = spoken.options.action;
    if (action != Action::Run && action != Action::Settings) {
        read_inspection(spoken.options, arguments.subspan(rest.index));
        return spoken.options;
    }
    if (spoken.options.inspection.job) refuse("--job is for --attach and --stacks");

    read_environment(parsed, spoken.standalone ? without_place(lookup) : lookup);
    if (action == Action::Settings) {
        static_cast<void>(read_arguments(parsed, arguments, true));
        return parsed.options;
    }
    read_programs(parsed, arguments);
    Options& options = parsed.options;
    if (options.action != Action::Run) return options;
    if (parsed.standalone) check_standalone(parsed);
    if (options.on_failure == OnFailure::Kill) options.max_restarts = 0;
    choose_endpoint(parsed);
    if (options.backend == Backend::Static && !options.node_rank) options.node_rank = 0;
    check_nodes(options);
    check_local_ranks(options);
    check_programs(options);
    options.processors =
        choose_processors(options.bind_to, local_size(options), allowed_processors());
    return options;
}

}  // namespace tutti::launch
