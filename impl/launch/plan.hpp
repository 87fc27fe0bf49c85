// Which processes a launcher starts, and what each finds in its environment. Any thread, no side
// effects.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "options.hpp"

namespace tutti::launch {

struct WorkerPlan {
    int rank = 0;
    std::vector<std::string> environment;  // "NAME=value", complete
};

// `inherited` is the launcher's own environment; `store_port` where its store listens.
std::vector<WorkerPlan> plan_workers(const Options& options, std::span<const char* const> inherited,
                                     int store_port);

}  // namespace tutti::launch
