// How a rank waits for what another one writes: it spins a little where every rank has a processor,
// lets others run for a while, and then sleeps until the doorbell rings. Any thread.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "table.hpp"

namespace tutti::shm {

// Whoever waits for something that another rank writes sleeps on a doorbell; it rings if anybody
// does.
struct alignas(cache_line) Doorbell {
    std::atomic<uint32_t> sleepers;
    std::atomic<uint32_t> rings;
};

// What a process may run on: processors by number, and how many at a time its control group
// allows; 0: no limit.
struct Processors {
    cpu_set_t allowed{};
    uint32_t at_a_time = 0;
};
Processors processors_of_this_process();

// How often a rank looks before it lets others run: never where ranks outnumber the processors that
// they have together.
int spins_for(std::span<const Processors> of_ranks);

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

void wake(Doorbell& doorbell);

// After this rank has written what others may sleep for: wakes them. Whoever counts itself after
// this has looked sees what was written.
inline void ring(Doorbell& mine) {
    if (mine.sleepers.fetch_add(0, std::memory_order_acq_rel) != 0) wake(mine);
}
// The same, if the last that was written was by an exchange in sequentially consistent order, which
// the sleepers look for in that order: the doorbell's memory, another rank's, is only read.
inline void ring_after_exchange(Doorbell& theirs) {
    if (theirs.sleepers.load(std::memory_order_seq_cst) != 0) wake(theirs);
}

// Then whoever sleeps looks whether the group has failed meanwhile: the sooner the less it has
// waited.
constexpr std::chrono::milliseconds shortest_look{10};
constexpr std::chrono::milliseconds longest_look{50};
constexpr std::chrono::nanoseconds look_after(std::chrono::nanoseconds waited) {
    return std::clamp<std::chrono::nanoseconds>(waited / 8, shortest_look, longest_look);
}

// Sleeps until the doorbell rings, so long at most. `is_ready` is looked at once more when this
// rank is known to sleep.
void sleep(Doorbell& doorbell, bool (*is_ready)(void*), void* context,
           std::chrono::nanoseconds longest);

// The parts of that, for who counts itself among the sleepers: unless it has rung since `heard`.
void await_ring(Doorbell& doorbell, uint32_t heard,
                std::chrono::nanoseconds longest = shortest_look);

}  // namespace tutti::shm
