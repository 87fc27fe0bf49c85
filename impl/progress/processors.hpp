// The processors that a process may use: whether its ranks have one each, or one is left over. Any
// thread.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

// How many at a time its control group allows beside; 0: no limit.
struct Processors {
    cpu_set_t allowed{};
    uint32_t at_a_time = 0;
    uint32_t reserved = 0;  // in the place of padding: it is sent
};
Processors processors_of_this_process();

// How often a rank checks before it yields: never where ranks outnumber the processors that they
// have together.
int spins_for(std::span<const Processors> of_ranks);

// Whether a process may use more processors than so many ranks keep busy: then a thread beside them
// takes none away.
bool has_spare_processor(const Processors& mine, size_t ranks_here);

}  // namespace tutti
