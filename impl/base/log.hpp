// Log lines on stderr. Silent below the level of TUTTI_LOG_LEVEL (error, warning, info, debug,
// trace; default: off). Whoever detects a fault words it and logs it, once. Any thread; one line is
// one write.
#pragma once

#include <string>

#include "text.hpp"

namespace tutti {

enum class LogLevel : int { Off = 0, Error = 1, Warning = 2, Info = 3, Debug = 4, Trace = 5 };

bool log_enabled(LogLevel level) noexcept;
void log_line(LogLevel level, const std::string& text) noexcept;

template <typename... Pieces>
void log(LogLevel level, const Pieces&... pieces) {
    if (log_enabled(level)) log_line(level, cat(pieces...));
}

}  // namespace tutti
