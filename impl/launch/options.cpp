// The command line of tuttirun: one table of options, read by the parser and by the help. Any
// thread, no side effects.
#include "options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::launch {

namespace {

// More processes than a machine can run are a typing error.
constexpr int64_t most_processes = 4'096;
constexpr int64_t longest_shutdown_s = 86'400;

struct Parsed {
    Options options;
    bool standalone = false;
    bool address_given = false;
};

struct Option {
    const char* name;
    const char* value;  // what the help calls it; nullptr: takes none
    const char* help;
    void (*apply)(Parsed& parsed, const std::string& value);
};

constexpr std::array<Option, 7> known_options{{
    {"--nproc-per-node", "N", "how many processes to start (1)",
     [](Parsed& parsed, const std::string& value) {
         parsed.options.nproc_per_node =
             static_cast<int>(parse_number(value, "--nproc-per-node", 1, most_processes));
     }},
    {"--standalone", nullptr, "one machine, any free port: the default, spelled out",
     [](Parsed& parsed, const std::string&) { parsed.standalone = true; }},
    {"--master-addr", "ADDRESS", "where the store listens (127.0.0.1)",
     [](Parsed& parsed, const std::string& value) {
         parsed.address_given = true;
         parsed.options.master_addr = value;
     }},
    {"--master-port", "PORT", "the store's port (any free one)",
     [](Parsed& parsed, const std::string& value) {
         parsed.address_given = true;
         parsed.options.master_port =
             static_cast<int>(parse_number(value, "--master-port", 0, 65'535));
     }},
    {"--shutdown-timeout", "SECONDS", "from SIGTERM to SIGKILL when ranks are ended (5)",
     [](Parsed& parsed, const std::string& value) {
         parsed.options.shutdown_timeout_ms =
             1'000 * parse_number(value, "--shutdown-timeout", 0, longest_shutdown_s);
     }},
    {"--help", nullptr, "show this text",
     [](Parsed& parsed, const std::string&) { parsed.options.action = Options::Action::Help; }},
    {"--version", nullptr, "show the version",
     [](Parsed& parsed, const std::string&) { parsed.options.action = Options::Action::Version; }},
}};

[[noreturn]] void refuse(const std::string& sentence) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, sentence);
}

const Option& find_option(std::string name) {
    if (name == "-h") name = "--help";
    std::replace(name.begin(), name.end(), '_', '-');
    const auto found = std::find_if(known_options.begin(), known_options.end(),
                                    [&](const Option& option) { return name == option.name; });
    if (found == known_options.end()) refuse(cat("unknown option ", name));
    return *found;
}

void check(const Parsed& parsed) {
    if (parsed.options.action != Options::Action::Run) return;
    if (parsed.standalone && parsed.address_given) {
        refuse(
            "--standalone chooses address and port itself: leave --master-addr and "
            "--master-port away");
    }
    if (parsed.options.master_addr.empty()) refuse("--master-addr is empty");
    if (parsed.options.command.empty()) refuse("the program to run is missing");
}

}  // namespace

Options parse_options(std::span<const char* const> arguments) {
    Parsed parsed;
    size_t next = 0;
    while (next < arguments.size()) {
        const std::string argument = arguments[next];
        if (!argument.starts_with('-')) break;
        ++next;
        if (argument == "--") break;
        const auto equals = argument.find('=');
        const Option& option = find_option(argument.substr(0, equals));
        std::string value;
        if (option.value == nullptr) {
            if (equals != std::string::npos) refuse(cat(option.name, " takes no value"));
        } else if (equals != std::string::npos) {
            value = argument.substr(equals + 1);
        } else {
            if (next == arguments.size()) refuse(cat(option.name, " needs a value"));
            value = arguments[next++];
        }
        option.apply(parsed, value);
    }
    const auto command = arguments.subspan(next);
    parsed.options.command.assign(command.begin(), command.end());
    check(parsed);
    return parsed.options;
}

std::string help_text() {
    std::string text =
        "usage: tuttirun [options] [--] program [arguments]\n"
        "\n"
        "Starts N copies of a program on this machine, the ranks of one job, and serves the\n"
        "store where they meet. Each finds its place in its environment, as under torchrun:\n"
        "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and the like.\n"
        "\n"
        "options:\n";
    constexpr size_t column = 30;
    for (const Option& option : known_options) {
        auto line = cat("  ", option.name);
        if (option.value != nullptr) line += cat(" ", option.value);
        line.resize(std::max(line.size() + 1, column), ' ');
        text += cat(line, option.help, "\n");
    }
    text +=
        "\n"
        "When a rank fails, the others are ended and the first failure is named; its exit code,\n"
        "or 128 + its signal, becomes that of tuttirun. Signals are passed on to the ranks.\n";
    return text;
}

}  // namespace tutti::launch
