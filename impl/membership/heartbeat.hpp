// How often ranks say that they live, and how long silence may last. From TUTTI_HEARTBEAT_MS (100)
// and TUTTI_HEARTBEAT_TIMEOUT_MS (1000; 0: silence is never a failure, for debuggers). Loop thread
// only.
#pragma once

#include <chrono>
#include <cstdint>

namespace tutti::membership {

struct Heartbeat {
    int64_t interval_ms = 100;
    int64_t limit_ms = 1000;

    static Heartbeat from_environment();
};

// Notices when this process itself was stopped or starved: then nobody else is to blame for the
// silence.
class Pulse {
public:
    using Clock = std::chrono::steady_clock;
    explicit Pulse(const Heartbeat& heartbeat) : heartbeat_(heartbeat), last_(Clock::now()) {}

    // At every tick: whether this one came so late that silences must be counted anew.
    bool overslept() {
        const auto now = Clock::now();
        const auto late = now - last_ - std::chrono::milliseconds(heartbeat_.interval_ms);
        last_ = now;
        return late > std::chrono::milliseconds(heartbeat_.limit_ms / 2);
    }
    [[nodiscard]] bool too_silent(Clock::time_point last_heard) const {
        return heartbeat_.limit_ms > 0 &&
               last_ - last_heard > std::chrono::milliseconds(heartbeat_.limit_ms);
    }

private:
    const Heartbeat heartbeat_;
    Clock::time_point last_;
};

}  // namespace tutti::membership
