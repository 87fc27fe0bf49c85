// The doorbell of a rank wakes its sleeping threads: callers that wait, and the mover if none does.
// Finishing works, calling channels and asking for trouble happen without the lock.
#include "messages.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/pause.hpp"
#include "base/thread.hpp"

namespace tutti::message {

namespace {

// Long enough that a rank which shares its processor with others does not sleep between two
// messages, or two pieces of one.
constexpr std::chrono::microseconds waiter_yields{400};
constexpr std::chrono::microseconds mover_yields{50};
constexpr std::chrono::milliseconds between_looks{10};
constexpr uint64_t calls_between_looks = 16;  // where none of them waits for long
// How long a caller that waits for a channel sleeps without a look around.
constexpr std::chrono::milliseconds max_sleep{500};

}  // namespace

Messages::Messages(Setting setting)
    : rank_(setting.rank),
      trouble_(std::move(setting.trouble)),
      spins_(setting.spins),
      driver_(setting.driver),
      alarm_(Alarm::shared()),
      doorbell_(setting.doorbell == nullptr ? own_doorbell_ : *setting.doorbell),
      queues_(setting.rank, setting.size) {}

Messages::~Messages() {
    abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
    close();
}

void Messages::send(const Send& call, const Deadline& deadline) {
    Sending message(call, deadline, nullptr);
    run(message);
}

int Messages::receive(const Receive& call, const Deadline& deadline) {
    Receiving receiving(call, deadline, nullptr);
    run(receiving);
    return receiving.source;
}

void Messages::start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    begin(std::make_unique<Sending>(call, deadline, std::move(work)));
}

void Messages::start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    begin(std::make_unique<Receiving>(call, deadline, std::move(work)));
}

template <typename Kind>
void Messages::run(Kind& operation) {
    const Driving driving(driver_);
    Deferred after;
    bool looks = false;
    bool waits = false;
    bool is_driven = false;
    {
        const Lock lock(mutex_);
        looks = ++calls_ % calls_between_looks == 0;
        is_driven = queues_.is_driven(operation.call);
        queues_.set_driver(&operation);
        queues_.post(operation);
        waits = !operation.done.load(std::memory_order_relaxed);
        if (waits) enter_wait();
        leave(after);
    }
    after.run(doorbell_);
    if (waits) await(operation, is_driven);  // also if another thread has ended it by now
    if (looks) look_around();  // a group that fails also ends messages between its other ranks
    if (!operation.status.ok()) throw Error(operation.status);
}

template <typename Kind>
void Messages::begin(std::unique_ptr<Kind> operation) {
    Deferred after;
    bool is_first_late = false;
    {
        const Lock lock(mutex_);
        const bool is_driven = queues_.is_driven(operation->call);
        if (is_driven && !mover_.joinable()) {
            mover_ = start_thread("tutti-messages", [this] { move(); });
        }
        queues_.set_driver(nullptr);
        queues_.post(*operation);
        static_cast<void>(operation.release());       // it ends by itself from here on
        if (is_driven) queues_.expire(Clock::now());  // one whose time is up already
        employ_mover();
        queues_.take(after);
        is_first_late = queues_.next_expiry() < watched_;
    }
    after.run(doorbell_);
    if (is_first_late) enter([](Queues& /*queues*/) {});  // only now that a channel has it
}

// Collects what is to be done without the lock, and first sets the alarm for the next expiry.
void Messages::leave(Deferred& after) noexcept {
    queues_.take(after);
    try {
        watch(queues_.next_expiry());
    } catch (...) {  // no memory, or no thread: the next caller tries again
    }
}

void Messages::watch(Clock::time_point when) {
    if (when >= watched_) return;
    const auto id = alarm_->set(Deadline::at(when), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ring();
    });
    alarm_->clear(std::exchange(watching_, id));
    watched_ = when;
}

// Something in the background may be late.
void Messages::ring() noexcept {
    Deferred after;
    {
        const Lock lock(mutex_);
        queues_.set_driver(nullptr);
        watched_ = Clock::time_point::max();
        queues_.expire(Clock::now());
        leave(after);
    }
    after.run(doorbell_);
}

void Messages::enter_wait() {
    ++waiters_;
    uncount_mover();
}

void Messages::leave_wait() {
    if (--waiters_ == 0) employ_mover();
}

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

// Once the operation is done, this thread no longer counts as one that waits.
Messages::Step Messages::step(Operation& operation) {
    Step step = driver_ != nullptr && driver_->advance() ? Step::Moved : Step::Nothing;
    if (!mutex_.try_lock()) return step;
    queues_.set_driver(&operation);
    if (!operation.done.load(std::memory_order_relaxed) && queues_.advance()) step = Step::Moved;
    if (operation.done.load(std::memory_order_relaxed)) {
        step = Step::Done;
        leave_wait();
    }
    Deferred after;
    leave(after);
    mutex_.unlock();
    after.run(doorbell_);
    return step;
}

// What this thread moves is looked at often at first; for anything else the doorbell rings.
template <typename Kind>
void Messages::await(Kind& operation, bool is_driven) {
    TUTTI_FAULT_POINT("shm.message");
    int spins = driver_ == nullptr ? 0 : driver_->spins();
    if (is_driven) spins = spins_;
    for (int spin = 0; spin < spins; ++spin) {
        if (step(operation) == Step::Done) return;
        pause();
    }
    auto moved = Clock::now();
    if (!is_driven && driver_ == nullptr) moved -= waiter_yields;
    for (auto looked = moved;;) {
        const Step last = step(operation);
        if (last == Step::Done) return;
        const auto now = Clock::now();
        if (last == Step::Moved) moved = now;
        auto longest = is_driven ? between_looks : max_sleep;
        if (!operation.is_late) {
            const auto when = operation.deadline.when();
            if (now >= when) {
                enter([&](Queues& queues) {
                    queues.set_driver(&operation);
                    if (!operation.done.load(std::memory_order_relaxed)) queues.time_out(operation);
                    operation.is_late = true;
                });
                continue;
            }
            longest = std::min(longest, std::chrono::ceil<std::chrono::milliseconds>(when - now));
        }
        const bool dozes = now - moved >= waiter_yields;
        if (dozes || now - looked >= between_looks) {
            looked = now;
            look_around();
        }
        if (dozes) {
            doze(operation, longest);
        } else {
            ::sched_yield();
        }
    }
}

void Messages::doze(Operation& operation, Clock::duration longest) {
    doorbell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t heard = doorbell_.rings.load(std::memory_order_seq_cst);
    bool moved = false;
    enter([&](Queues& queues) {
        queues.set_driver(&operation);
        moved = queues.advance() || operation.done.load(std::memory_order_seq_cst);
        if (queues.in_background() > 0) longest = std::min<Clock::duration>(longest, between_looks);
    });
    if (!moved) {
        if (driver_ != nullptr) driver_->leave();
        shm::await_ring(doorbell_, heard, longest);
        if (driver_ != nullptr) driver_->enter();
    }
    doorbell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
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

bool Messages::cancel(const Work& receive) noexcept {
    bool cancelled = false;
    enter([&](Queues& queues) {
        cancelled = queues.cancel(receive, {TUTTI_ERR_ABORTED, -1, 0, "it was cancelled"});
    });
    return cancelled;
}

void Messages::abort(const Status& status) noexcept {
    enter([&](Queues& queues) { queues.fail(status); });
}

void Messages::close() noexcept {
    std::thread mover;
    std::vector<Peer*> peers;
    {
        const Lock lock(mutex_);
        stopping_ = true;
        employed_.notify_all();
        mover.swap(mover_);
        alarm_->clear(watching_);
        peers = queues_.all_peers();
    }
    if (mover.joinable()) {
        shm::wake(doorbell_);
        mover.join();
    }
    for (Peer* const peer : peers) peer->close();
}

// The mover: advances everything in the background while no caller waits; looks around in any case.
void Messages::move() noexcept {
    Lock lock(mutex_);
    auto moved = Clock::now();
    for (auto looked = moved; !stopping_;) {
        if (queues_.in_background() == 0) {
            is_idle_ = true;
            employed_.wait(lock);
            is_idle_ = false;
            continue;
        }
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
        after.run(doorbell_);
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

}  // namespace tutti::message
