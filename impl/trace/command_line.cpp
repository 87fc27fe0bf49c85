#include "command_line.hpp"

#include <cstdlib>
#include <map>
#include <optional>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace tutti::trace {

namespace {

const std::map<std::string, Report>& reports() {
    static const std::map<std::string, Report> all{{"--table", Report::Table},
                                                   {"--timeline", Report::Timeline},
                                                   {"--stragglers", Report::Stragglers},
                                                   {"--perfetto", Report::Perfetto},
                                                   {"--json", Report::Json},
                                                   {"--help", Report::Help},
                                                   {"-h", Report::Help},
                                                   {"--version", Report::Version}};
    return all;
}

double parse_seconds(const std::string& text) {
    constexpr double most = 1e9;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0' && value >= 0 && value <= most;
    if (!is_number) refuse("--patience is \"", text, "\", not a number of seconds");
    return value;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
    constexpr int64_t most_calls = 1'000'000'000;
    CommandLine line;
    std::optional<std::string> chosen;
    const auto choose = [&](const std::string& name, Report report) {
        if (chosen && line.report != report) refuse(*chosen, " and ", name, " exclude each other");
        chosen = name;
        line.report = report;
    };
    bool only_places = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (only_places || argument.empty() || argument[0] != '-') {
            line.places.push_back(argument);
            continue;
        }
        const size_t equals = argument.find('=');
        const std::string name = argument.substr(0, equals);
        const auto value = [&] {
            if (equals != std::string::npos) return argument.substr(equals + 1);
            if (++i == arguments.size()) refuse(name, " needs a value");
            return arguments[i];
        };
        if (name == "--") {
            only_places = true;
        } else if (name == "--torch") {
            choose(name, Report::Torch);
            line.prefix = value();
        } else if (name == "--patience") {
            line.patience = parse_seconds(value());
        } else if (name == "--last") {
            line.last = static_cast<size_t>(parse_number(value(), "--last", 1, most_calls));
        } else if (const auto at = reports().find(argument); at != reports().end()) {
            choose(name, at->second);
        } else {
            refuse("there is no option ", argument);
        }
    }
    return line;
}

const char* help_text() {
    return "usage: tuttitrace [options] [FOLDER | FILE...]\n"
           "\n"
           "Says why a job does not go on, from the records of its ranks, living or dead: one\n"
           "sentence for each trouble, with the rank that the others wait for. A record is a file\n"
           "*.ring, which each rank writes while it runs. Without a folder or file: the newest "
           "job\n"
           "of this user.\n"
           "\n"
           "  --table               the last calls of each rank\n"
           "  --timeline            the last calls of all ranks, in the order of time\n"
           "  --stragglers          which ranks come late to collectives, how late and how often\n"
           "  --perfetto            all calls as a trace for ui.perfetto.dev and Chrome\n"
           "  --json                the troubles, and where each rank is, as JSON\n"
           "  --torch PREFIX        writes PREFIX<rank>, pickles for torch's analyzer, and\n"
           "                        PREFIX<rank>.json\n"
           "  --last N              so many calls: of each rank (5), of the timeline (50)\n"
           "  --patience SECONDS    a shorter wait is no trouble (1)\n"
           "  -h, --help            this text\n"
           "  --version             the version\n"
           "\n"
           "Exit code\n"
           "  0          the records were read\n"
           "  1          there is no record that can be read, or the output cannot be written\n"
           "  2          the command line is wrong\n";
}

}  // namespace tutti::trace
