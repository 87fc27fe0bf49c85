// A place in memory that ranks share, on which the threads sleep that wait for a write of its
// owner, or of others to it. A writer rings it if any thread sleeps. Any thread of any process.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/cache_line.hpp"

namespace tutti {

struct alignas(cache_line) Doorbell {
    std::atomic<uint32_t> sleepers;
    std::atomic<uint32_t> rings;

    // Wakes the threads that may sleep for a write of this rank, after it. A thread that counts
    // itself later sees the write.
    void ring() noexcept {
        if (sleepers.fetch_add(0, std::memory_order_acq_rel) != 0) wake();
    }
    // The same after a write by a sequentially consistent exchange, for sleepers that check in that
    // order: it only reads the doorbell, which is another rank's memory.
    void ring_after_exchange() noexcept {
        if (sleepers.load(std::memory_order_seq_cst) != 0) wake();
    }
    void wake() noexcept;

    // A sleeping thread checks at this interval whether the group has failed: more often at first.
    static constexpr std::chrono::milliseconds min_look{10};
    static constexpr std::chrono::milliseconds max_look{50};
    static constexpr std::chrono::nanoseconds look_after(std::chrono::nanoseconds waited) {
        return std::clamp<std::chrono::nanoseconds>(waited / 8, min_look, max_look);
    }

    // Sleeps until it rings, at most so long. Checks `is_ready` once more when it counts as asleep.
    void sleep(bool (*is_ready)(void*), void* context, std::chrono::nanoseconds longest) noexcept;
    // The sleep alone, for a caller that counts itself among the sleepers: unless it has rung since
    // `heard`.
    void await_ring(uint32_t heard, std::chrono::nanoseconds longest = min_look) noexcept;
};

}  // namespace tutti
