#include "pace.hpp"

#include <sched.h>

#include "base/pause.hpp"

namespace tutti {

namespace {

constexpr int questions_in_a_row = 8;                  // before the first yield
constexpr std::chrono::microseconds one_question{20};  // longer: it does something between them

}  // namespace

Pace::Next Pace::next() noexcept {
    if (spun_ < spins_) {
        ++spun_;
        pause();
        return Next::Look;
    }
    if (is_over()) return Next::Sleep;
    if (!is_yielding_) {
        is_yielding_ = true;
        began_ = last_ = Deadline::Clock::now();
    }
    ::sched_yield();
    const auto now = Deadline::Clock::now();
    if (crowd_ != nullptr) {
        crowd_->yielded(now - last_);
        if (crowd_->was_seen()) yields_ = Duration::zero();
    }
    last_ = now;
    return Next::LookAtClock;
}

void asked(bool in_vain) noexcept {
    thread_local int in_a_row = 0;
    thread_local Deadline::Clock::time_point last{};
    if (!in_vain) {
        in_a_row = 0;
        return;
    }
    auto now = Deadline::Clock::now();
    in_a_row = now - last > one_question ? 0 : in_a_row + 1;
    if (in_a_row > questions_in_a_row) {
        in_a_row = questions_in_a_row;
        ::sched_yield();
        now = Deadline::Clock::now();
    }
    last = now;
}

}  // namespace tutti
