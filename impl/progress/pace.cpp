#include "pace.hpp"

#include <sched.h>

#include "base/pause.hpp"

namespace tutti {

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

}  // namespace tutti
