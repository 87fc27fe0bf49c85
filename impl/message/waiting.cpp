// Threads of callers that wait: for their own operations, or for works. The doorbell of the rank
// wakes those that sleep.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "ends.hpp"
#include "messages.hpp"
#include "progress/pace.hpp"

namespace tutti::message {

namespace {

constexpr uint64_t calls_between_looks = 16;  // where none of them waits for long
// How long a caller that waits for a channel sleeps without a look around.
constexpr std::chrono::milliseconds max_sleep{500};

}  // namespace

void Messages::send(const Send& call, const Deadline& deadline) {
    Sending message(call, deadline, nullptr);
    OwnEnd end(message);
    run(end);
    if (!message.status.ok()) throw Error(message.status);
}

int Messages::receive(const Receive& call, const Deadline& deadline) {
    Receiving receiving(call, deadline, nullptr);
    OwnEnd end(receiving);
    run(end);
    if (!receiving.status.ok()) throw Error(receiving.status);
    return receiving.source;
}

BatchEnd Messages::run(std::span<const Message> batch, const Deadline& deadline) {
    OwnEnds ends(deadline);
    for (const Message& message : batch) ends.add(message);
    run(ends);
    return ends.end();
}

template <typename End>
void Messages::run(End& end) {
    const Waiter waiter(driver_);
    Deferred after;
    bool looks = false;
    bool waits = false;
    bool is_driven = false;
    {
        const Lock lock(mutex_);
        looks = ++calls_ % calls_between_looks == 0;
        is_driven = end.is_driven(queues_);
        queues_.set_driver(end.operation());
        end.post(queues_);
        waits = !end.is_over();
        if (waits) enter_wait();
        leave(after);
    }
    finish(after);
    if (waits) await(end, is_driven);  // also if another thread has ended it by now
    if (looks) look_around();  // a group that fails also ends messages between its other ranks
}

// A first look often ends them, and then this thread never counts as one that waits.
void Messages::help(const IsOver& is_over, const Deadline& deadline) {
    static_cast<void>(advance());
    if (is_over()) return;
    const Waiter waiter(driver_);
    bool is_driven = false;
    {
        const Lock lock(mutex_);
        is_driven = queues_.in_background() > 0;
        if (!is_driven && driver_ == nullptr) return;
        enter_wait();
    }
    EndOfWorks end(is_over, deadline);
    await(end, is_driven);
}

bool Messages::advance() noexcept {
    bool moved = driver_ != nullptr && driver_->advance();
    if (!may_have_some_.load(std::memory_order_relaxed)) return moved;
    enter([&](Queues& queues) TUTTI_REQUIRES(mutex_) {
        ++waits_;
        if (queues.in_background() > 0) moved = queues.advance() || moved;
        may_have_some_.store(queues.in_background() > 0, std::memory_order_relaxed);
    });
    return moved;
}

void Messages::hurry() noexcept {
    if (driver_ != nullptr) driver_->hurry();
    if (!may_have_some_.load(std::memory_order_relaxed)) return;
    const Lock lock(mutex_);
    if (queues_.in_background() > 0) mover_.call();
}

void Messages::enter_wait() {
    ++waits_;
    ++waiters_;
    uncount_mover();
}

void Messages::leave_wait() {
    if (--waiters_ == 0) employ_mover();
}

// Once it is over, this thread no longer counts as one that waits. Works end without the lock.
template <typename End>
Messages::Step Messages::step(End& end) {
    Step step = driver_ != nullptr && driver_->advance() ? Step::Moved : Step::Nothing;
    if (!mutex_.try_lock()) return step;
    queues_.set_driver(end.operation());
    if (!end.is_over() && queues_.advance()) step = Step::Moved;
    if (end.is_over()) {
        step = Step::Done;
        leave_wait();
    }
    Deferred after;
    leave(after);
    mutex_.unlock();
    finish(after);
    if (End::is_seen_in_lock || step == Step::Done || !end.is_over()) return step;
    enter([this](Queues& /*queues*/) TUTTI_REQUIRES(mutex_) { leave_wait(); });
    return Step::Done;
}

// A thread looks often at first at what it moves itself; for anything else the doorbell rings.
template <typename End>
void Messages::await(End& end, bool is_driven) {
    TUTTI_FAULT_POINT("shm.message");
    Pace pace = pace_of(is_driven);
    for (auto looked = Clock::now();;) {
        const Step last = step(end);
        if (last == Step::Done) return;
        if (last == Step::Moved) pace.moved();
        const auto next = pace.next();
        if (next == Pace::Next::Look) continue;
        const auto now = Clock::now();
        auto longest = is_driven ? between_looks : max_sleep;
        if (const auto limit = end.limit()) {
            if (now >= *limit) {
                enter([&](Queues& queues) {
                    queues.set_driver(end.operation());
                    end.time_out(queues);
                });
                continue;
            }
            longest = std::min(longest, std::chrono::ceil<std::chrono::milliseconds>(*limit - now));
        }
        const bool dozes = next == Pace::Next::Sleep;
        if (dozes || now - looked >= between_looks) {
            looked = now;
            look_around();
        }
        if (dozes) doze(end, longest);
    }
}

// A thread that moves nothing sleeps at once.
Pace Messages::pace_of(bool is_driven) const {
    if (is_driven) return Pace(spins_);
    if (driver_ != nullptr) return Pace(driver_->spins());
    return Pace(0, Pace::Duration::zero());
}

template <typename End>
void Messages::doze(End& end, Clock::duration longest) {
    doorbell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t heard = doorbell_.rings.load(std::memory_order_seq_cst);
    bool moved = false;
    enter([&](Queues& queues) {
        queues.set_driver(end.operation());
        moved = queues.advance() || end.is_over();
        if (queues.in_background() > 0) longest = std::min<Clock::duration>(longest, between_looks);
    });
    if (!moved && !end.is_over()) {
        if (driver_ != nullptr) driver_->begin_sleeping();
        doorbell_.await_ring(heard, longest);
        if (driver_ != nullptr) driver_->end_sleeping();
    }
    doorbell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tutti::message
