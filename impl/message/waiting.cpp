// Threads of callers that wait: for their own operations, or for works. The doorbell of the rank
// wakes those that sleep.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/pause.hpp"
#include "ends.hpp"
#include "messages.hpp"

namespace tutti::message {

namespace {

// Long enough that a rank which shares its processor with others does not sleep between two
// messages, or two pieces of one.
constexpr std::chrono::microseconds waiter_yields{400};
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
    const Driving driving(driver_);
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
    look();
    if (is_over()) return;
    const Driving driving(driver_);
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

void Messages::look() noexcept {
    if (driver_ != nullptr) driver_->advance();
    if (!may_have_some_.load(std::memory_order_relaxed)) return;
    enter([this](Queues& queues) TUTTI_REQUIRES(mutex_) {
        ++waits_;
        if (queues.in_background() > 0) queues.advance();
        may_have_some_.store(queues.in_background() > 0, std::memory_order_relaxed);
    });
}

void Messages::hurry() noexcept {
    if (driver_ != nullptr) driver_->hurry();
    if (!may_have_some_.load(std::memory_order_relaxed)) return;
    const Lock lock(mutex_);
    if (queues_.in_background() == 0) return;
    is_hurried_ = true;
    employed_.notify_one();
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

// What this thread moves is looked at often at first; for anything else the doorbell rings.
template <typename End>
void Messages::await(End& end, bool is_driven) {
    TUTTI_FAULT_POINT("shm.message");
    int spins = driver_ == nullptr ? 0 : driver_->spins();
    if (is_driven) spins = spins_;
    for (int spin = 0; spin < spins; ++spin) {
        if (step(end) == Step::Done) return;
        pause();
    }
    auto moved = Clock::now();
    if (!is_driven && driver_ == nullptr) moved -= waiter_yields;
    for (auto looked = moved;;) {
        const Step last = step(end);
        if (last == Step::Done) return;
        const auto now = Clock::now();
        if (last == Step::Moved) moved = now;
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
        const bool dozes = now - moved >= waiter_yields;
        if (dozes || now - looked >= between_looks) {
            looked = now;
            look_around();
        }
        if (dozes) {
            doze(end, longest);
        } else {
            ::sched_yield();
        }
    }
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
        if (driver_ != nullptr) driver_->leave_to_sleep();
        shm::await_ring(doorbell_, heard, longest);
        if (driver_ != nullptr) driver_->enter_from_sleep();
    }
    doorbell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tutti::message
