// Whether the process of a record still lives on this host, and whether it can run. Any thread.
#pragma once

#include <cstdint>

#include "recording.hpp"

namespace tutti::trace {

// `start`: field 22 of /proc/PID/stat, which tells processes with one number apart.
ProcessState process_state(uint64_t pid, uint64_t start);

}  // namespace tutti::trace
