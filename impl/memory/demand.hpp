// Ranks compare what they want of the memory where they are: together it may be too much, which
// none sees from its own, and to use memory that is not there ends the process. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.hpp"

namespace tutti::shm {

struct Demand {
    uint64_t bytes = 0;
    uint64_t host = 0;       // 0: it is not known which
    uint64_t available = 0;  // to all processes of the host
    uint64_t room = 0;       // for all processes of
    uint64_t group = 0;      // this control group of the host; 0: of no group
};

// This process's. Reads files.
Demand demand_of(size_t bytes);

struct Excess {
    int rank;    // whose demand is the largest
    Status why;  // OUT_OF_MEMORY
};

// By rank. The same rank on all; a process names its own control group.
std::optional<Excess> find_excess(const std::vector<Demand>& demands);

}  // namespace tutti::shm
