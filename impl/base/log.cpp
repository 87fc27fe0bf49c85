#include "log.hpp"

#include <strings.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <utility>

#include "debug_level.hpp"
#include "environment.hpp"
#include "error.hpp"
#include "log_format.hpp"
#include "log_queue.hpp"
#include "one_line.hpp"

namespace tutti {

namespace {

constexpr std::array levels{LogLevel::Off,  LogLevel::Error, LogLevel::Warning,
                            LogLevel::Info, LogLevel::Debug, LogLevel::Trace};

// -1: the environment has not been asked yet.
constinit std::atomic<int> chosen{-1};

std::optional<LogLevel> own_level(const std::string& text) {
    for (const LogLevel level : levels) {
        if (strcasecmp(text.c_str(), log_level_name(level)) == 0) return level;
    }
    return std::nullopt;
}

// Torch's names or their numbers. It has none between error and silence but fatal, which tutti
// never is.
std::optional<LogLevel> torch_level(const std::string& text) {
    constexpr std::array<std::pair<const char*, LogLevel>, 4> names{{{"INFO", LogLevel::Info},
                                                                     {"WARNING", LogLevel::Warning},
                                                                     {"ERROR", LogLevel::Error},
                                                                     {"FATAL", LogLevel::Off}}};
    for (size_t number = 0; number < names.size(); ++number) {
        const auto& [name, level] = names[number];
        if (strcasecmp(text.c_str(), name) == 0 || text == std::to_string(number)) return level;
    }
    return std::nullopt;
}

int level_of_environment() noexcept {
    try {
        return static_cast<int>(log_level_by_environment());
    } catch (...) {  // who makes a group is told
        return static_cast<int>(LogLevel::Off);
    }
}

int chosen_level() noexcept {
    int level = chosen.load(std::memory_order_relaxed);
    if (level >= 0) return level;
    const int asked = level_of_environment();
    return chosen.compare_exchange_strong(level, asked) ? asked : level;
}

}  // namespace

LogLevel log_level_by_environment() {
    if (const auto own = environment("TUTTI_LOG_LEVEL")) {
        if (const auto level = own_level(*own)) return *level;
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("environment variable TUTTI_LOG_LEVEL is \"", *own,
                        "\"; it may be off, error, warning, info, debug or trace"));
    }
    const auto torch = environment("TORCH_CPP_LOG_LEVEL");
    if (!torch) return LogLevel::Off;
    const auto level = torch_level(*torch);
    if (!level) {
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("environment variable TORCH_CPP_LOG_LEVEL is \"", *torch,
                        "\"; it may be INFO, WARNING, ERROR, FATAL, or 0 to 3"));
    }
    if (level != LogLevel::Info) return *level;
    constexpr std::array detail{LogLevel::Info, LogLevel::Debug, LogLevel::Trace};
    return detail[static_cast<size_t>(debug_level_by_environment())];
}

bool log_enabled(LogLevel level) noexcept {
    return level != LogLevel::Off && static_cast<int>(level) <= chosen_level();
}

LogLevel log_level() noexcept {
    return static_cast<LogLevel>(chosen_level());
}

void log_line(LogLevel level, const std::string& text) noexcept {
    try {
        const std::string message = one_line(text);
        if (log_queue().add(level, message)) return;
        const std::string line = formatted_log_line(level, message);
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    } catch (...) {  // a log line is never worth a failure
    }
}

void set_log_listener(LogListener listener, LogLevel level) {
    const int next = listener ? static_cast<int>(level) : level_of_environment();
    log_queue().set_listener(std::move(listener));
    chosen = next;
}

bool log_is_listened_to() {
    return log_queue().is_listened_to();
}

}  // namespace tutti
