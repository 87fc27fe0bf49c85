// Rests between polls of what nobody notifies a thread of, and a thread that waits so.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "pace.hpp"
#include "source.hpp"

namespace tutti {

// None at first, then longer ones the longer nothing moves. One thread.
class Backoff {
public:
    void reset() noexcept {
        pace_.moved();
        rest_ = min_rest;
    }
    // After a poll in which nothing moved. True: rest until `until` at the most, then poll again.
    bool rests(Deadline& until) noexcept;

private:
    static constexpr int spins = 100;
    static constexpr Pace::Duration yields{1000};
    static constexpr std::chrono::microseconds min_rest{20};
    static constexpr std::chrono::microseconds max_rest{640};

    Pace pace_{spins, yields};
    std::chrono::microseconds rest_ = min_rest;
};

// A thread that waits for operations of some sources, which may be named repeatedly.
class PollingWait {
public:
    explicit PollingWait(std::vector<std::shared_ptr<Source>> all);
    ~PollingWait();
    PollingWait(const PollingWait&) = delete;
    PollingWait& operator=(const PollingWait&) = delete;

    // Whether nothing needs polling.
    [[nodiscard]] bool empty() const { return all_.empty(); }
    // Polls each once. True: look whether the wait is over, else rest until `until` at the most.
    bool poll(Deadline& until) noexcept;

private:
    std::vector<std::shared_ptr<Source>> all_;
    Backoff backoff_;
};

}  // namespace tutti
