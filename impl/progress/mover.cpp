#include "mover.hpp"

#include <utility>

#include "base/thread.hpp"

namespace tutti {

void Mover::start() {
    if (!thread_.joinable()) thread_ = start_thread("tutti-mover", [this] { run(); });
}

std::thread Mover::end() noexcept {
    is_ending_ = true;
    changed_.notify_one();
    return std::exchange(thread_, {});
}

void Mover::notify() noexcept {
    if (is_parked_) changed_.notify_one();
}

void Mover::call() noexcept {
    is_called_ = true;
    changed_.notify_one();
}

bool Mover::shorten() noexcept {
    const bool is_to_look = attention_.shorten();
    if (is_to_look) changed_.notify_one();
    return is_to_look;
}

Attention::Seen Mover::look() noexcept {
    Attention::Seen seen = owner_.seen();
    seen.is_wanted = seen.is_wanted || is_called_;
    return seen;
}

void Mover::run() noexcept {
    Looks::make_timers_exact();
    Lock lock(mutex_);
    while (!is_ending_) {
        Attention::Seen seen = look();
        seen.is_new = has_new_.exchange(false);
        const Attention::Next next = attention_.next(seen);
        if (next.rest) {
            changed_.wait(lock, Deadline::at(Deadline::Clock::now() + *next.rest));
            continue;
        }
        if (!next.moves && !park(lock, seen.waits)) continue;
        is_called_ = false;
        lock.unlock();
        const auto rest = owner_.move();
        lock.lock();
        if (rest && !is_ending_) changed_.wait(lock, *rest);
    }
}

// Sleeps until it is notified. A thread that has more for it sees that it sleeps, or it sees that
// there is more. Returns true when a tick has passed without a call.
bool Mover::park(Lock& lock, uint64_t waits) {
    is_parked_ = true;
    const Attention::Seen now = look();
    const bool is_needed = now.waiting == 0 && (now.has_some || now.is_wanted);
    const bool is_notified = is_needed || changed_.wait(lock, Deadline::after_ms(tick_ms_));
    is_parked_ = false;
    if (is_notified || is_ending_) return false;
    const Attention::Seen later = look();
    return later.waiting == 0 && later.waits == waits;
}

}  // namespace tutti
