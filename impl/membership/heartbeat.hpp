// Heartbeat interval and timeout, from TUTTI_HEARTBEAT_MS (100) and TUTTI_HEARTBEAT_TIMEOUT_MS
// (1000; 0: silence is never a failure, for debuggers). Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace tutti::membership {

struct Heartbeat {
    int64_t interval_ms = 100;
    int64_t timeout_ms = 1000;

    static Heartbeat from_environment();
};

// Notices when this process itself was stopped or starved: then the silence is nobody else's fault.
class HeartbeatClock {
public:
    using Clock = std::chrono::steady_clock;
    explicit HeartbeatClock(const Heartbeat& heartbeat)
        : heartbeat_(heartbeat), last_(Clock::now()), before_(last_) {}

    // At every tick: whether it is so late that all silences must be counted anew.
    bool was_suspended() {
        const auto now = Clock::now();
        const auto late = now - last_ - std::chrono::milliseconds(heartbeat_.interval_ms);
        before_ = std::exchange(last_, now);
        const bool is_late = late > std::chrono::milliseconds(heartbeat_.timeout_ms / 2);
        if (is_late) suspended_ = now;
        return is_late;
    }
    // Whether that was so a moment ago, or is so and the tick has not come yet.
    [[nodiscard]] bool was_suspended_lately() const {
        if (heartbeat_.timeout_ms == 0) return false;
        const std::chrono::milliseconds limit(heartbeat_.timeout_ms);
        const auto now = Clock::now();
        return now - last_ > limit ||
               (suspended_ != Clock::time_point() && now - suspended_ < limit);
    }
    // What another clock of this process has found.
    void take_over_suspension() { suspended_ = Clock::now(); }
    // The time of the last tick. What is seen in a tick is judged by it: in one that is suspended
    // half way, the time goes on and nothing else does.
    [[nodiscard]] Clock::time_point now() const { return last_; }
    // Silences are judged by the tick before: what had come by then has been read since. A tick
    // comes before the reading, and in one that is late, messages may wait.
    // So long that one should ask.
    [[nodiscard]] bool is_quiet(Clock::time_point last_heard) const {
        return heartbeat_.timeout_ms > 0 &&
               before_ - last_heard > std::chrono::milliseconds(heartbeat_.timeout_ms / 2);
    }
    [[nodiscard]] bool is_overdue(Clock::time_point last_heard) const {
        return heartbeat_.timeout_ms > 0 &&
               before_ - last_heard > std::chrono::milliseconds(heartbeat_.timeout_ms);
    }

private:
    const Heartbeat heartbeat_;
    Clock::time_point last_;
    Clock::time_point before_;
    Clock::time_point suspended_{};  // until then, the last time
};

}  // namespace tutti::membership
