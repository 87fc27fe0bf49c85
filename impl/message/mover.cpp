// The mover, the thread that moves what no caller waits for; and whether the group has failed.
#include <sched.h>

#include <chrono>
#include <utility>
#include <vector>

#include "messages.hpp"

namespace tutti::message {

namespace {

constexpr std::chrono::microseconds mover_yields{50};

}  // namespace

// The mover advances what is in the background, unless a caller waits.
void Messages::employ_mover() {
    if (waiters_ > 0 || queues_.in_background() == 0) return;
    if (is_idle_) employed_.notify_one();
    if (!is_dozing_ || is_counted_) return;
    count_mover();
    queues_.set_driver(nullptr);
    queues_.advance();  // what came before it was counted
}

void Messages::count_mover() {
    doorbell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    is_counted_ = true;
}

void Messages::uncount_mover() {
    if (!is_counted_) return;
    doorbell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    is_counted_ = false;
}

// The mover's rest while callers move everything themselves. False: something was left alone.
bool Messages::rest(Lock& lock) {
    const bool has_some = queues_.in_background() > 0;
    const bool had_some = std::exchange(has_left_, has_some);
    const bool has_called = std::exchange(seen_waits_, waits_) != waits_;
    const bool has_waits = has_called || waiters_ > 0;
    const bool begins = std::exchange(is_hurried_, false) || looks_.are_off();
    if (has_some && (begins || (had_some && !has_waits))) {
        looks_.found_something();
        return false;
    }
    // A thread that has waited since the last look notifies this one when it leaves.
    const bool is_attended = waiters_ > 0 && !has_called;
    if (!is_attended) {
        const bool is_busy = std::exchange(has_new_, false) || has_some;
        if (const auto until_look = looks_.next(is_busy)) {
            employed_.wait(lock, Deadline::at(Clock::now() + *until_look));
            return true;
        }
    }
    is_idle_ = true;
    employed_.wait(lock);
    is_idle_ = false;
    return true;
}

// The mover: advances everything in the background while no caller waits; looks around in any case.
void Messages::move() noexcept {
    Looks::make_timers_exact();
    Lock lock(mutex_);
    auto moved = Clock::now();
    for (auto looked = moved; !stopping_;) {
        if (rest(lock)) continue;
        const uint32_t heard = doorbell_.rings.load(std::memory_order_seq_cst);
        const bool is_needed = waiters_ == 0;
        if (is_needed) count_mover();
        queues_.set_driver(nullptr);
        const bool has_moved = is_needed && queues_.advance();
        const auto now = Clock::now();
        if (has_moved) moved = now;
        const bool goes_on =
            is_needed && now - moved < mover_yields && (has_moved || queues_.is_streaming());
        is_dozing_ = !goes_on;
        if (goes_on) uncount_mover();
        Deferred after;
        leave(after);
        lock.unlock();
        finish(after);
        if (!goes_on) {
            shm::await_ring(doorbell_, heard);
        } else if (!has_moved) {
            ::sched_yield();
        }
        if (!goes_on || now - looked >= between_looks) {
            looked = now;
            look_around();
        }
        lock.lock();
        is_dozing_ = false;
        uncount_mover();
    }
}

// Has the group failed, or a rank left, on which something here waits?
void Messages::look_around() {
    std::vector<int> peers;
    {
        const Lock lock(mutex_);
        const auto now = Clock::now();
        if (now < next_look_) return;
        next_look_ = now + between_looks;
        peers = queues_.peers_in_use();
    }
    const Status ours = trouble_(rank_);
    std::vector<std::pair<int, Status>> troubles;
    for (const int peer : peers) {
        if (Status status = trouble_(peer); !status.ok()) {
            troubles.emplace_back(peer, std::move(status));
        }
    }
    if (ours.ok() && troubles.empty()) return;
    enter([&](Queues& queues) {
        while (queues.advance()) {  // what they wrote before
        }
        if (!ours.ok()) queues.fail(ours);
        for (const auto& [peer, status] : troubles) queues.fail(peer, status);
        queues.fail_any_if_alone(troubles.size());
    });
}

}  // namespace tutti::message
