#include "log_format.hpp"

#include <pthread.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

#include "environment.hpp"
#include "error.hpp"
#include "one_line.hpp"

namespace tutti {

namespace {

constexpr std::array<const char*, 6> level_names{"off",  "error", "warning",
                                                 "info", "debug", "trace"};

// The parts of the library that begin their lines with their name and a colon.
constexpr std::array<std::string_view, 8> components{
    "control", "gloo", "log", "shm", "store server", "tcp", "transport", "tuttirun"};

LogFormat format_of_process() noexcept {
    static const LogFormat format = [] {
        try {
            return log_format_by_environment();
        } catch (...) {  // who makes a group is told
            return LogFormat::Text;
        }
    }();
    return format;
}

struct alignas(8) Place {  // read and written whole
    int rank = -1;
    int world_size = -1;
};
constinit std::atomic<Place> known_place{};
static_assert(std::atomic<Place>::is_always_lock_free);

int number_of_environment(Variable name) noexcept {
    try {
        return static_cast<int>(environment_number(name, 0, INT_MAX).value_or(-1));
    } catch (...) {  // the variable may be another program's
        return -1;
    }
}

Place place() noexcept {
    if (const Place known = known_place; known.rank >= 0) return known;
    static const Place launched{number_of_environment("RANK"), number_of_environment("WORLD_SIZE")};
    return launched;
}

// RFC 3339, in UTC.
std::string time_now() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    std::array<char, 80> text{};
    const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ",
                                   parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                   parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000);
    return {text.data(), static_cast<size_t>(size)};
}

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return {};
    return name.data();
}

std::string thread_name() {
    std::array<char, 16> name{};
    if (::pthread_getname_np(::pthread_self(), name.data(), name.size()) != 0) return {};
    return name.data();
}

// The line comes from one_line(), so no control character is left.
std::string quoted(std::string_view line) {
    std::string text = "\"";
    for (const char one : line) {
        if (one == '"' || one == '\\') text += '\\';
        text += one;
    }
    return text += '"';
}

std::string_view component_of(std::string_view message) {
    const std::string_view name = message.substr(0, message.find(": "));
    return std::ranges::find(components, name) == components.end() ? "" : name;
}

std::string json_line(LogLevel level, const std::string& message) {
    const Place here = place();
    std::string line =
        cat(R"({"time":")", time_now(), R"(","level":")", log_level_name(level), '"');
    if (here.rank >= 0) line += cat(R"(,"rank":)", here.rank);
    if (here.world_size >= 0) line += cat(R"(,"world_size":)", here.world_size);
    line += cat(R"(,"host":)", quoted(one_line(host_name())), R"(,"pid":)", int{::getpid()},
                R"(,"thread":)", quoted(one_line(thread_name())));
    if (const auto component = component_of(message); !component.empty()) {
        line += cat(R"(,"component":")", component, '"');
    }
    return cat(line, R"(,"message":)", quoted(message), "}\n");
}

}  // namespace

LogFormat log_format_by_environment() {
    const auto text = environment("TUTTI_LOG_FORMAT");
    if (!text || strcasecmp(text->c_str(), "text") == 0) return LogFormat::Text;
    if (strcasecmp(text->c_str(), "json") == 0) return LogFormat::Json;
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("environment variable TUTTI_LOG_FORMAT is \"",
                                                *text, "\"; it may be text or json"));
}

const char* log_level_name(LogLevel level) {
    return level_names[static_cast<size_t>(level)];
}

void set_log_rank(int rank, int world_size) noexcept {
    known_place = {rank, world_size};
}

std::string formatted_log_line(LogLevel level, const std::string& message) {
    if (format_of_process() == LogFormat::Json) return json_line(level, message);
    return cat("[tutti ", log_level_name(level), " ", int{::getpid()}, "] ", message, "\n");
}

}  // namespace tutti
