// How a log line looks on stderr: as text, or as one JSON object. Any thread.
#pragma once

#include <string>

#include "log.hpp"

namespace tutti {

enum class LogFormat : int { Text = 0, Json = 1 };

// TUTTI_LOG_FORMAT, text or json; Text if not set. INVALID_ARGUMENT for anything else.
LogFormat log_format_by_environment();

// "off" to "trace".
const char* log_level_name(LogLevel level);

// The rank of this process and the number of ranks, for JSON lines; before, they have those that a
// launcher has set in the environment.
void set_log_rank(int rank, int world_size) noexcept;

// With a newline at the end. `message` is one line of UTF-8. The format is read once, and is Text
// where the variable is malformed.
std::string formatted_log_line(LogLevel level, const std::string& message);

}  // namespace tutti
