// The pieces of JSON that are no lists and maps: numbers, strings, bytes, times. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::json {

// The shortest number that reads back the same; "NaN", "Infinity", "-Infinity" as strings.
void append_real(std::string& out, double number);
void append_real(std::string& out, float number);
// Quoted, escaped; `text` is UTF-8. Stops with "..." once `out` is `limit` bytes long.
void append_string(std::string& out, std::string_view text, size_t limit);
// Quoted, in base64; stops likewise.
void append_bytes(std::string& out, std::string_view bytes, size_t limit);
// Quoted, "2026-11-21T12:00:00.5Z"; outside the years 0 to 9999 seconds, "@-1e..." as a number.
void append_time(std::string& out, int64_t seconds, int64_t nanoseconds);

}  // namespace tutti::json
