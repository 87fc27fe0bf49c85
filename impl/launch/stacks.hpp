// The stacks of ranks that run, seen from outside by eu-stack or gdb: the rank takes no part, and
// is stopped only while its stacks are read. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "running_jobs.hpp"

namespace tutti::launch {

// The stacks of all threads of that process, or what the tool says in their place. Blocks while the
// tool runs. Throws UNSUPPORTED if there is none.
std::string stacks_of(pid_t process);
// The same below a line that names the rank, its host and its process.
std::string stacks_of(const RunningRank& rank, const std::string& host);

// Why a process of this user may not look into another one here, and what helps; empty: it may.
std::string tracing_obstacle();

}  // namespace tutti::launch
