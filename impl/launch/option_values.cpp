// Values of options. Any thread, no side effects.
#include "option_values.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "limits.hpp"

namespace tutti::launch {

namespace {

[[noreturn]] void malformed(const std::string& what, const std::string& text,
                            const std::string& why) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(what, " is \"", text, "\": ", why));
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> pieces;
    for (size_t start = 0; start <= text.size();) {
        const auto end = std::min(text.find(separator, start), text.size());
        pieces.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return pieces;
}

int number_of_signal(std::string name) {
    if (name.starts_with("SIG")) name.erase(0, 3);
    for (int number = 1; number < SIGRTMIN; ++number) {
        const char* known = ::sigabbrev_np(number);
        if (known != nullptr && name == known) return number;
    }
    return 0;
}

}  // namespace

bool StreamChoice::has(int local_rank, int stream) const {
    const auto found = ranks.find(local_rank);
    return ((found == ranks.end() ? everyone : found->second) & stream) != 0;
}

bool StreamChoice::empty() const {
    return everyone == 0 && std::all_of(ranks.begin(), ranks.end(),
                                        [](const auto& choice) { return choice.second == 0; });
}

int parse_nodes(const std::string& text, const std::string& what) {
    const auto colon = text.find(':');
    const auto lowest = parse_number(text.substr(0, colon), what, 1, limits::nodes);
    if (colon != std::string::npos &&
        parse_number(text.substr(colon + 1), what, 1, limits::nodes) != lowest) {
        malformed(what, text, "elastic sizes are not supported, the two numbers must be one");
    }
    return static_cast<int>(lowest);
}

net::Endpoint parse_endpoint(const std::string& text, const std::string& what, int default_port) {
    net::Endpoint endpoint{text, default_port};
    std::string port;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string::npos) malformed(what, text, "the bracket does not close");
        endpoint.host = text.substr(1, end - 1);
        port = text.substr(end + 1);
        if (!port.empty() && !port.starts_with(':')) malformed(what, text, "is not HOST:PORT");
    } else if (std::count(text.begin(), text.end(), ':') == 1) {
        endpoint.host = text.substr(0, text.find(':'));
        port = text.substr(text.find(':'));
    }
    if (endpoint.host.empty()) malformed(what, text, "the host is missing");
    if (!port.empty()) {
        endpoint.port = static_cast<int>(
            parse_number(port.substr(1), cat("the port of ", what), 0, limits::port));
    }
    return endpoint;
}

Backend parse_backend(const std::string& text, const std::string& what) {
    if (text == "static") return Backend::Static;
    if (text == "c10d") return Backend::Arrival;
    malformed(what, text, "there are static and c10d");
}

BindTo parse_bind_to(const std::string& text, const std::string& what) {
    if (text == "core") return BindTo::Core;
    if (text == "numa") return BindTo::Numa;
    if (text == "none") return BindTo::None;
    malformed(what, text, "there are core, numa and none");
}

OnFailure parse_on_failure(const std::string& text, const std::string& what) {
    if (text == "restart") return OnFailure::Restart;
    if (text == "shrink") return OnFailure::Shrink;
    if (text == "kill") return OnFailure::Kill;
    malformed(what, text, "there are restart, shrink and kill");
}

void parse_times(const std::string& text, const std::string& what, RendezvousTimes& times) {
    constexpr const char* known =
        "timeout, join_timeout, keep_alive_interval, "
        "keep_alive_max_attempt";
    for (const auto& setting : split(text, ',')) {
        const auto equals = setting.find('=');
        const auto key = setting.substr(0, equals);
        if (equals == std::string::npos) malformed(what, text, "is not KEY=VALUE,KEY=VALUE");
        const auto number = [&](int64_t lowest, int64_t highest) {
            return parse_number(setting.substr(equals + 1), cat(key, " in ", what), lowest,
                                highest);
        };
        if (key == "timeout" || key == "join_timeout") {
            times.join_ms = 1'000 * number(1, limits::seconds);
        } else if (key == "keep_alive_interval") {
            times.pulse_ms = 1'000 * number(1, limits::pulse_seconds);
        } else if (key == "keep_alive_max_attempt") {
            times.missed_pulses = number(1, limits::missed_pulses);
        } else {
            malformed(what, text, cat("\"", key, "\" is not known; there are ", known));
        }
    }
}

StreamChoice parse_streams(const std::string& text, const std::string& what) {
    StreamChoice choice;
    const auto bits = [&](const std::string& number) {
        return static_cast<int>(parse_number(number, cat("the streams of ", what), 0,
                                             standard_output | standard_error));
    };
    if (text.find(':') == std::string::npos) {
        choice.everyone = bits(text);
        return choice;
    }
    for (const auto& piece : split(text, ',')) {
        const auto colon = piece.find(':');
        if (colon == std::string::npos) malformed(what, text, "is not RANK:STREAMS,RANK:STREAMS");
        const auto rank = parse_number(piece.substr(0, colon), cat("a local rank of ", what), 0,
                                       limits::processes - 1);
        choice.ranks[static_cast<int>(rank)] = bits(piece.substr(colon + 1));
    }
    return choice;
}

std::set<int> parse_ranks(const std::string& text, const std::string& what) {
    std::set<int> ranks;
    for (const auto& piece : split(text, ',')) {
        ranks.insert(static_cast<int>(
            parse_number(piece, cat("a local rank of ", what), 0, limits::processes - 1)));
    }
    return ranks;
}

std::vector<int> parse_signals(const std::string& text, const std::string& what) {
    std::vector<int> signals;
    for (const auto& name : split(text, ',')) {
        const int number = number_of_signal(name);
        if (number == 0) malformed(what, text, cat("there is no signal \"", name, "\""));
        if (number == SIGKILL || number == SIGSTOP || number == SIGCHLD) {
            malformed(what, text, cat(name, " cannot be passed on"));
        }
        signals.push_back(number);
    }
    return signals;
}

}  // namespace tutti::launch
