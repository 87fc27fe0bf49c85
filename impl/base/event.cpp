#include "event.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace tutti {

namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

timespec absolute(const Deadline& deadline) {
    // steady_clock counts CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes.
    const auto since = deadline.when().time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    return {static_cast<time_t>(seconds.count()),
            static_cast<long>(std::chrono::nanoseconds(since - seconds).count())};
}

}  // namespace

void Event::notify() noexcept {
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool Event::wait(uint32_t ticket, const Deadline& deadline) noexcept {
    timespec until{};
    if (!deadline.is_never()) until = absolute(deadline);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool in_time = true;
    while (count_.load(std::memory_order_seq_cst) == ticket) {
        const long slept =
            syscall(SYS_futex, &count_, FUTEX_WAIT_BITSET_PRIVATE, ticket,
                    deadline.is_never() ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
        if (slept == -1 && errno == ETIMEDOUT) {
            in_time = false;
            break;
        }
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return in_time || count_.load(std::memory_order_acquire) != ticket;
}

}  // namespace tutti
