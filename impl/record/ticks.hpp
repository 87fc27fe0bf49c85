// The clock of the flight recorder: a counter of the processor where it is one that all processors
// share, in a third of the time of the system's clock; else nanoseconds. Any thread.
#pragma once

#include <ctime>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tutti::record {

inline uint64_t nanoseconds_of(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Whether the counter can be used: it never stops, and the system trusts it too.
bool has_counter() noexcept;

class Ticks {
public:
    explicit Ticks(bool is_counter) : is_counter_(is_counter) {}
    [[nodiscard]] bool is_counter() const { return is_counter_; }
    [[nodiscard]] uint64_t now() const noexcept {
#if defined(__x86_64__)
        if (is_counter_) [[likely]]
            return __rdtsc();
#elif defined(__aarch64__)
        if (is_counter_) [[likely]] {
            uint64_t count = 0;
            asm volatile("mrs %0, cntvct_el0" : "=r"(count));
            return count;
        }
#endif
        return nanoseconds_of(CLOCK_MONOTONIC);
    }

private:
    bool is_counter_;
};

}  // namespace tutti::record
