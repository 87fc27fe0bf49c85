#include "log.hpp"

#include <strings.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace tutti {

namespace {

constexpr std::array<const char*, 6> level_names{"off",  "error", "warning",
                                                 "info", "debug", "trace"};

LogLevel level_from_environment() noexcept {
    const char* value = std::getenv("TUTTI_LOG_LEVEL");
    if (value == nullptr) return LogLevel::Off;
    for (size_t level = 0; level < level_names.size(); ++level) {
        if (strcasecmp(value, level_names[level]) == 0) return static_cast<LogLevel>(level);
    }
    return LogLevel::Off;
}

LogLevel chosen_level() noexcept {
    static const LogLevel level = level_from_environment();
    return level;
}

}  // namespace

bool log_enabled(LogLevel level) noexcept {
    return level != LogLevel::Off && level <= chosen_level();
}

void log_line(LogLevel level, const std::string& text) noexcept {
    try {
        const std::string line = cat("[tutti ", level_names[static_cast<size_t>(level)], " ",
                                     static_cast<int>(getpid()), "] ", text, "\n");
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    } catch (...) {  // a log line is never worth a failure
    }
}

}  // namespace tutti
