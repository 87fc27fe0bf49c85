#include "notice.hpp"

#include <cstdio>

namespace tutti {

void notice(LogLevel level, const std::string& text) noexcept {
    if (log_enabled(level)) return log_line(level, text);
    std::fprintf(stderr, "tutti: %s\n", text.c_str());  // one write: stderr has no buffer
}

}  // namespace tutti
