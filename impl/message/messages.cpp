// The doorbell of a rank wakes its sleeping threads: callers that wait, and the mover if none does.
// Finishing works, calling channels and asking for trouble happen without the lock.
#include "messages.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <optional>
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

// A thread waits in await() for the end of its own operation,
template <typename Kind>
class Messages::OwnEnd {
public:
    static constexpr bool is_seen_in_lock = true;
    explicit OwnEnd(Kind& operation) : operation_(operation) {}
    [[nodiscard]] const Operation* operation() const { return &operation_; }
    [[nodiscard]] bool is_over() const { return operation_.done.load(std::memory_order_seq_cst); }
    // When time_out() is due; nothing: it has been called.
    [[nodiscard]] std::optional<Clock::time_point> limit() const {
        if (operation_.is_late) return std::nullopt;
        return operation_.deadline.when();
    }
    void time_out(Queues& queues) {
        if (!is_over()) queues.time_out(operation_);
        operation_.is_late = true;
    }

private:
    Kind& operation_;
};

// or that of works, or the time to give up.
class Messages::EndOfWorks {
public:
    static constexpr bool is_seen_in_lock = false;
    EndOfWorks(const IsOver& is_over, const Deadline& deadline)
        : is_over_(is_over), limit_(deadline.when()) {}
    [[nodiscard]] const Operation* operation() const { return nullptr; }
    [[nodiscard]] bool is_over() const { return is_late_ || is_over_(); }
    [[nodiscard]] std::optional<Clock::time_point> limit() const {
        if (is_late_) return std::nullopt;
        return limit_;
    }
    void time_out(Queues& /*queues*/) { is_late_ = true; }

private:
    const IsOver& is_over_;
    const Clock::time_point limit_;
    bool is_late_ = false;
};

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
    if (waits) {  // also if another thread has ended it by now
        OwnEnd<Kind> end(operation);
        await(end, is_driven);
    }
    if (looks) look_around();  // a group that fails also ends messages between its other ranks
    if (!operation.status.ok()) throw Error(operation.status);
}

template <typename Kind>
void Messages::begin(std::unique_ptr<Kind> operation) {
    Deferred after;
    bool is_first_late = false;
    const size_t operation_bytes = operation->call.buffer.size();
    const Deadline& deadline = operation->deadline;
    const bool may_be_late = deadline.timeout_ms() <= 0 && !deadline.is_never();
    {
        const Lock lock(mutex_);
        const bool is_driven = queues_.is_driven(operation->call);
        if (is_driven && !mover_.joinable()) {
            mover_ = start_thread("tutti-messages", [this] { move(); });
        }
        queues_.set_driver(nullptr);
        queues_.post(*operation);
        static_cast<void>(operation.release());  // it ends by itself from here on
        if (is_driven && may_be_late) queues_.expire(Clock::now());
        has_new_ = true;
        if (is_driven && operation_bytes >= Looks::long_bytes && looks_.shorten()) {
            employed_.notify_one();
        }
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
    enter([this](Queues& queues) TUTTI_REQUIRES(mutex_) {
        ++waits_;
        if (queues.in_background() > 0) queues.advance();
    });
}

void Messages::hurry() noexcept {
    const Lock lock(mutex_);
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
    after.run(doorbell_);
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

// The mover's rest while callers move everything themselves. False: something was left alone.
bool Messages::rest(Lock& lock) {
    const bool has_some = queues_.in_background() > 0;
    const bool had_some = std::exchange(has_left_, has_some);
    const bool has_waits = std::exchange(seen_waits_, waits_) != waits_;
    const bool begins = std::exchange(is_hurried_, false) || looks_.are_off();
    if (has_some && (begins || (had_some && !has_waits))) {
        looks_.found_something();
        return false;
    }
    const bool is_busy = std::exchange(has_new_, false) || has_some;
    if (const auto until_look = looks_.next(is_busy)) {
        employed_.wait(lock, Deadline::at(Clock::now() + *until_look));
        return true;
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
