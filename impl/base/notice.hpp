// A line that somebody has asked for: in the log, or on stderr where the log is silent. Any thread.
#pragma once

#include <string>

#include "log.hpp"

namespace tutti {

void notice(LogLevel level, const std::string& text) noexcept;

}  // namespace tutti
