#include "futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace tutti::futex {

namespace {

int flag_of(Scope scope) {
    return scope == Scope::Process ? FUTEX_PRIVATE_FLAG : 0;
}

timespec absolute(const Deadline& deadline) {
    // steady_clock counts CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes.
    const auto since = deadline.when().time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    return {static_cast<time_t>(seconds.count()),
            static_cast<long>(std::chrono::nanoseconds(since - seconds).count())};
}

}  // namespace

bool wait(const void* word, uint32_t value, Scope scope, const Deadline& deadline) noexcept {
    timespec until{};
    if (!deadline.is_never()) until = absolute(deadline);
    const long slept =
        ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET | flag_of(scope), value,
                  deadline.is_never() ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
    return slept != -1 || errno != ETIMEDOUT;
}

void wake_all(void* word, Scope scope) noexcept {
    ::syscall(SYS_futex, word, FUTEX_WAKE | flag_of(scope), INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tutti::futex
