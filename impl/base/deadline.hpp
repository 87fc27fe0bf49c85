// A point in time that an operation must not pass, made once at the top and handed down. Any
// thread. All copies are the same point in time.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>

#include "tutti/types.h"

namespace tutti {

class Deadline {
public:
    using Clock = std::chrono::steady_clock;

    static Deadline never() { return Deadline(Clock::time_point::max()); }
    static Deadline at(Clock::time_point when) { return Deadline(when); }
    // `timeout_ms` below 0 is never.
    static Deadline after_ms(int64_t timeout_ms) {
        return has_end(timeout_ms) ? after_ms(timeout_ms, Clock::now()) : never();
    }
    static Deadline after_ms(int64_t timeout_ms, Clock::time_point now) {
        if (!has_end(timeout_ms)) return never();
        return Deadline(now + std::chrono::milliseconds(timeout_ms), timeout_ms);
    }

    // Starts when it is first asked or copied, so a call that never waits never reads the clock.
    // For one thread.
    static Deadline after_ms_of_waiting(int64_t timeout_ms) {
        return Deadline(not_begun, timeout_ms);
    }

    Deadline(const Deadline& other) : when_(other.when()), timeout_ms_(other.timeout_ms_) {}
    Deadline& operator=(const Deadline& other) {
        when_ = other.when();
        timeout_ms_ = other.timeout_ms_;
        return *this;
    }
    Deadline(Deadline&&) = default;
    Deadline& operator=(Deadline&&) = default;
    // A copy that takes the place of this one, which nobody asks any more: it has not begun here.
    [[nodiscard]] Deadline successor() const { return Deadline(when_, timeout_ms_); }

    [[nodiscard]] bool is_never() const { return when() == Clock::time_point::max(); }
    [[nodiscard]] bool expired() const { return !is_never() && Clock::now() >= when_; }
    [[nodiscard]] Clock::time_point when() const {
        if (when_ == not_begun) when_ = after_ms(timeout_ms_).when_;
        return when_;
    }
    // The timeout it was made from, for messages; 0: none.
    [[nodiscard]] int64_t timeout_ms() const { return timeout_ms_; }

    // Milliseconds left, rounded up, 0 when expired, -1 for never: what poll(2) takes.
    [[nodiscard]] int poll_ms() const {
        if (is_never()) return -1;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(when_ - Clock::now()).count();
        return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
    }

    [[nodiscard]] Deadline or_earlier(const Deadline& other) const {
        return when() <= other.when() ? *this : other;
    }
    [[nodiscard]] Deadline or_later(const Deadline& other) const {
        return when() >= other.when() ? *this : other;
    }

private:
    static constexpr bool has_end(int64_t timeout_ms) {
        constexpr int64_t max_ms = int64_t{1000} * 3600 * 24 * 365 * 100;  // a century: no overflow
        return timeout_ms >= 0 && timeout_ms <= max_ms;
    }
    explicit Deadline(Clock::time_point when, int64_t timeout_ms = 0)
        : when_(when), timeout_ms_(timeout_ms) {}
    static constexpr Clock::time_point not_begun = Clock::time_point::min();
    mutable Clock::time_point when_;
    int64_t timeout_ms_;
};

}  // namespace tutti
