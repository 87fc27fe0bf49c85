// The pace of a thread that waits: between two looks it pauses at first, then lets others run, then
// sleeps, in the way that suits what it waits for. One thread.
#pragma once

#include <atomic>
#include <chrono>

#include "base/deadline.hpp"

namespace tutti {

// Whether other threads need the processors of those that wait. A yield that takes long went to one
// that computes; for some waits after it threads sleep at once, because a woken thread runs before
// one that computes, and one that has yielded after it. Any thread.
class Crowd {
public:
    // A wait begins: whether it is one of those.
    [[nodiscard]] bool sleeps_at_once() noexcept {
        const int left = waits_left_.load(std::memory_order_relaxed);
        if (left == 0) return false;
        waits_left_.store(left - 1, std::memory_order_relaxed);
        return true;
    }
    [[nodiscard]] bool was_seen() const noexcept {
        return waits_left_.load(std::memory_order_relaxed) > 0;
    }
    void yielded(Deadline::Clock::duration how_long) noexcept {
        if (how_long <= others_turn) return;
        waits_left_.store(waits_beside_others, std::memory_order_relaxed);
    }

private:
    static constexpr std::chrono::microseconds others_turn{300};
    static constexpr int waits_beside_others = 64;

    std::atomic<int> waits_left_{0};
};

class Pace {
public:
    using Duration = std::chrono::microseconds;
    // How long a thread yields that waits for another rank: one which shares its processor with
    // others does not sleep between two messages, or two pieces of one.
    static constexpr Duration usual_yields{400};

    // `spins`: looks before the first yield. `crowd`: null: nobody knows.
    explicit Pace(int spins, Duration yields = usual_yields, Crowd* crowd = nullptr) noexcept
        : spins_(spins), yields_(yields), crowd_(crowd) {
        if (crowd_ != nullptr && crowd_->sleeps_at_once()) spins_ = 0, yields_ = Duration::zero();
    }

    enum class Next { Look, LookAtClock, Sleep };
    // After a look that found nothing: pauses or yields. LookAtClock: enough time has passed that
    // a deadline may have. Sleep: the caller sleeps now; it need not be asked again after that.
    Next next() noexcept;
    // Whether the next step is to sleep.
    [[nodiscard]] bool is_over() const noexcept {
        if (spun_ < spins_) return false;
        return yields_ == Duration::zero() || (is_yielding_ && last_ - began_ >= yields_);
    }
    // The last look has found something.
    void moved() noexcept {
        spun_ = 0;
        is_yielding_ = false;
    }

private:
    int spins_;
    Duration yields_;
    Crowd* const crowd_;
    int spun_ = 0;
    bool is_yielding_ = false;
    Deadline::Clock::time_point began_{};  // to yield
    Deadline::Clock::time_point last_{};
};

// For a thread that asks again and again whether something is done: call it after each question. A
// thread that does nothing but ask, for some time in vain, lets others run.
void asked(bool in_vain) noexcept;

}  // namespace tutti
