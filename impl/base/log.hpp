// Log lines: on stderr, or to a listener. Silent unless the environment or a listener asks for
// them. The code that detects a fault words it and logs it, once. Any thread; on stderr one line is
// one write. A message is one line, whatever texts it was made of (one_line.hpp).
#pragma once

#include <functional>
#include <string>

#include "text.hpp"

namespace tutti {

enum class LogLevel : int { Off = 0, Error = 1, Warning = 2, Info = 3, Debug = 4, Trace = 5 };

bool log_enabled(LogLevel level) noexcept;
LogLevel log_level() noexcept;
void log_line(LogLevel level, const std::string& text) noexcept;

template <typename... Pieces>
void log(LogLevel level, const Pieces&... pieces) {
    if (log_enabled(level)) log_line(level, cat(pieces...));
}

// TUTTI_LOG_LEVEL (off to trace); without it torch's TORCH_CPP_LOG_LEVEL, which at INFO leaves it
// to TORCH_DISTRIBUTED_DEBUG how much more is said; without both Off. INVALID_ARGUMENT names the
// variable that is malformed; the lines above take it for Off.
LogLevel log_level_by_environment();

// From now on lines up to this level go to `listener` and none to stderr. It is called on a thread
// of its own, one line at a time, with no lock held. An empty one: stderr again, and the level of
// the environment. Blocks until the previous listener has heard all lines until now and will not
// be called again, unless that listener itself is the caller.
using LogListener = std::function<void(LogLevel level, const std::string& text)>;
void set_log_listener(LogListener listener, LogLevel level);
bool log_is_listened_to();

}  // namespace tutti
