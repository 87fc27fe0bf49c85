// Every maximum of the launcher, in one place: more than these is a typing error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::launch::limits {

constexpr int64_t processes = 4'096;  // of a node
constexpr int64_t nodes = 65'536;
constexpr int64_t restarts = 1'000'000;
constexpr int64_t port = 65'535;
constexpr int64_t seconds = 31 * 86'400;
constexpr int64_t pulse_seconds = 3'600;
constexpr int64_t missed_pulses = 1'000;

// Sentences of why the ranks do not go on.
constexpr size_t reasons = 5;

// The end of each rank's standard error that is kept for the report of a failure.
constexpr size_t last_lines = 20;
constexpr size_t last_line_bytes = 1'000;
// The bytes that are read of the file in which a program may say why it failed, and the bytes
// shown.
constexpr size_t error_file_bytes = 1024 * 1024;
constexpr size_t error_message_bytes = 16 * 1024;

}  // namespace tutti::launch::limits
