// The command line of tuttirun, and the variables PET_NAME: the parser over the table of options.
// Any thread.
#include "options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <string_view>

#include "base/error.hpp"
#include "binding.hpp"
#include "option_table.hpp"

namespace tutti::launch {

namespace {

constexpr int default_master_port = 29'500;

const OptionRow& find_option(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    for (const auto& row : option_table()) {
        if (row.name == nullptr) continue;
        if (name == row.name || (row.letter != 0 && name == cat("-", row.letter))) return row;
    }
    refuse("unknown option ", name);
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

// Where the program begins.
size_t read_arguments(Parsed& parsed, std::span<const char* const> arguments) {
    size_t next = 0;
    while (next < arguments.size()) {
        const std::string argument = arguments[next];
        if (!argument.starts_with('-')) break;
        ++next;
        if (argument == "--") break;
        const auto equals = argument.find('=');
        const OptionRow& row = find_option(argument.substr(0, equals));
        std::string value;
        if (row.value == nullptr) {
            if (equals != std::string::npos) refuse(row.name, " takes no value");
        } else if (equals != std::string::npos) {
            value = argument.substr(equals + 1);
        } else {
            if (next == arguments.size()) refuse(row.name, " needs a value");
            value = arguments[next++];
        }
        row.apply(parsed, value, row.name);
    }
    return next;
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
    const auto check = [&](const char* option, int rank) {
        if (rank < options.nproc_per_node) return;
        refuse(option, " names local rank ", rank, ", and --nproc-per-node is ",
               options.nproc_per_node, ": local ranks are 0 to ", options.nproc_per_node - 1);
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

Python choose_python(const Parsed& parsed) {
    const int chosen = int{parsed.module} + int{parsed.run_path} + int{parsed.no_python};
    if (chosen > 1) refuse("of --module, --run-path and --no-python one can be given");
    if (parsed.module) return Python::Module;
    if (parsed.run_path) return Python::File;
    return parsed.no_python ? Python::Never : Python::Scripts;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments, const Lookup& lookup) {
    Parsed parsed;
    parsed.options.signals = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    // A request for help on the command line is granted whatever the environment says.
    Parsed spoken = parsed;
    static_cast<void>(read_arguments(spoken, arguments));
    if (spoken.options.action != Options::Action::Run) return spoken.options;

    read_environment(parsed, spoken.standalone ? without_place(lookup) : lookup);
    const auto command = arguments.subspan(read_arguments(parsed, arguments));
    Options& options = parsed.options;
    options.command.assign(command.begin(), command.end());
    if (options.action != Options::Action::Run) return options;
    if (parsed.standalone) check_standalone(parsed);
    if (options.on_failure == OnFailure::Kill) options.max_restarts = 0;
    options.python = choose_python(parsed);
    choose_endpoint(parsed);
    if (options.backend == Backend::Static && !options.node_rank) options.node_rank = 0;
    check_nodes(options);
    check_local_ranks(options);
    if (options.command.empty()) refuse("the program to run is missing");
    options.processors =
        choose_processors(options.bind_to, options.nproc_per_node, allowed_processors());
    return options;
}

std::string help_text() {
    std::string text =
        "usage: tuttirun [options] [--] program [arguments]\n"
        "\n"
        "Starts several processes of a program, the ranks of a job. It serves the store that the\n"
        "ranks use to connect, forwards their output, and waits until all have ended. It sets the\n"
        "environment variables of torchrun: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,\n"
        "MASTER_PORT and others.\n"
        "\n"
        "  tuttirun --nproc-per-node 4 ./program\n"
        "  tuttirun --nnodes 2 --node-rank R --master-addr HOST_OF_NODE_0 ./program\n"
        "  tuttirun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST ./program\n"
        "\n"
        "An environment variable sets each option as well: PET_NODE_RANK sets --node-rank.\n";
    constexpr size_t column = 32;
    for (const OptionRow& row : option_table()) {
        if (row.name == nullptr) {
            text += cat("\n", row.help, "\n");
            continue;
        }
        auto line = row.letter == 0 ? cat("  ", row.name) : cat("  -", row.letter, ", ", row.name);
        if (row.value != nullptr) line += cat(" ", row.value);
        line.resize(std::max(line.size() + 1, column), ' ');
        text += cat(line, row.help, "\n");
    }
    text +=
        "\n"
        "Times of --rdzv-conf KEY=SECONDS,KEY=SECONDS\n"
        "  join_timeout, timeout         how long to wait for all nodes (600)\n"
        "  keep_alive_interval           interval between heartbeats of a node (5)\n"
        "  keep_alive_max_attempt        missed heartbeats after which a node is lost (3); a\n"
        "                                stopped tuttirun sends none\n"
        "\n"
        "If a rank fails (--on-failure)\n"
        "  restart    tuttirun ends the ranks of all nodes, and starts all of them again if a\n"
        "             restart is left (--max-restarts); this is the default\n"
        "  shrink     the other ranks go on. If no rank ends with 0, the job has failed, and all\n"
        "             start again if a restart is left\n"
        "  kill       tuttirun ends the ranks of all nodes, whatever --max-restarts says\n"
        "Each tuttirun reports the rank that failed first: its host, exit code or signal, time\n"
        "and last lines of output; with shrink, also those that failed later.\n"
        "\n"
        "Exit code\n"
        "  0          all ranks succeeded; with --on-failure shrink, at least one\n"
        "  N          the exit code of the rank that failed first\n"
        "  128 + N    signal N killed that rank, or ended the job\n"
        "  1          tuttirun failed, or a node was lost\n"
        "  2          the command line is wrong\n"
        "  127        the program cannot be run\n";
    return text;
}

}  // namespace tutti::launch
