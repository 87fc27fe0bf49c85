// Waiting for another rank's write: spin a little where every rank has a processor, yield for a
// while, then sleep until the doorbell rings. Any thread.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "cache.hpp"

namespace tutti::shm {

// A waiting thread sleeps on a doorbell; a writer rings it if any thread sleeps.
struct alignas(cache_line) Doorbell {
    std::atomic<uint32_t> sleepers;
    std::atomic<uint32_t> rings;
};

// The processors that a process may use, and how many at a time its control group allows; 0: no
// limit.
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

void wake(Doorbell& doorbell);

// Wakes the threads that may sleep for a write of this rank, after it. A thread that counts itself
// later sees the write.
inline void ring(Doorbell& mine) {
    if (mine.sleepers.fetch_add(0, std::memory_order_acq_rel) != 0) wake(mine);
}
// The same after a write by a sequentially consistent exchange, for sleepers that check in that
// order: only reads the doorbell, which is another rank's memory.
inline void ring_after_exchange(Doorbell& theirs) {
    if (theirs.sleepers.load(std::memory_order_seq_cst) != 0) wake(theirs);
}

// A sleeping thread checks at this interval whether the group has failed: more often at first.
constexpr std::chrono::milliseconds min_look{10};
constexpr std::chrono::milliseconds max_look{50};
constexpr std::chrono::nanoseconds look_after(std::chrono::nanoseconds waited) {
    return std::clamp<std::chrono::nanoseconds>(waited / 8, min_look, max_look);
}

// Sleeps until the doorbell rings, at most so long. Checks `is_ready` once more when it counts as
// asleep.
void sleep(Doorbell& doorbell, bool (*is_ready)(void*), void* context,
           std::chrono::nanoseconds longest);

// The sleep alone, for a caller that counts itself among the sleepers: unless it has rung since
// `heard`.
void await_ring(Doorbell& doorbell, uint32_t heard, std::chrono::nanoseconds longest = min_look);

}  // namespace tutti::shm
