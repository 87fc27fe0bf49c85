// The bell of a rank rings for whoever of its threads sleeps: those that wait, and the mover, if
// none waits. Works are finished, and the channel is asked, without the lock.
#include "messages.hpp"

#include <sched.h>

#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/thread.hpp"
#include "waiting.hpp"

namespace tutti::shm {

namespace {

// Long enough that a rank which shares its processor with others does not sleep between two
// messages, or two pieces of one.
constexpr std::chrono::microseconds waiter_yields{400};
constexpr std::chrono::microseconds mover_yields{50};
constexpr std::chrono::milliseconds between_looks{10};
constexpr uint64_t calls_between_looks = 16;  // where none of them waits for long

void finish_works(List<Operation>& ended) noexcept {
    while (!ended.empty()) {
        const std::unique_ptr<Operation> operation(&ended.take_front());
        operation->work->finish(operation->status, operation->source);
    }
}

}  // namespace

Messages::Messages(const std::vector<MailPlace>& mails, Way way, int spins, const Channel& channel)
    : channel_(channel),
      spins_(spins),
      bell_(static_cast<Mail*>(mails[static_cast<size_t>(channel.rank())].memory)->bell),
      traffic_(mails, way, channel.rank()) {}

Messages::~Messages() {
    abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
    std::thread mover;
    {
        const Lock lock(mutex_);
        stopping_ = true;
        employed_.notify_all();
        mover.swap(mover_);
    }
    wake(bell_);
    if (mover.joinable()) mover.join();
}

void Messages::see(const Shared& shared) {
    const Lock lock(mutex_);
    traffic_.see(shared);
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
    List<Operation> ended;
    bool looks = false;
    bool waits = false;
    {
        const Lock lock(mutex_);
        looks = ++calls_ % calls_between_looks == 0;
        traffic_.set_driver(&operation);
        traffic_.post(operation);
        traffic_.take_ended(ended);
        waits = !operation.done.load(std::memory_order_relaxed);
        if (waits) enter_wait();
    }
    finish_works(ended);
    if (waits) await(operation);  // also if another thread has ended it by now
    if (looks) look_around();     // a group that fails ends messages between its other ranks, too
    if (!operation.status.ok()) throw Error(operation.status);
}

template <typename Kind>
void Messages::begin(std::unique_ptr<Kind> operation) {
    List<Operation> ended;
    {
        const Lock lock(mutex_);
        if (!mover_.joinable()) mover_ = start_thread("tutti-messages", [this] { move(); });
        traffic_.set_driver(nullptr);
        traffic_.post(*operation);
        static_cast<void>(operation.release());   // it ends by itself from here on
        traffic_.expire(Deadline::Clock::now());  // one whose time is up already
        employ_mover();
        traffic_.take_ended(ended);
    }
    finish_works(ended);
}

void Messages::enter_wait() {
    ++waiters_;
    uncount_mover();
}

void Messages::leave_wait() {
    if (--waiters_ == 0) employ_mover();
}

// What is in the background is the mover's, unless somebody waits.
void Messages::employ_mover() {
    if (waiters_ > 0 || traffic_.in_background() == 0) return;
    if (is_idle_) employed_.notify_one();
    if (!is_dozing_ || is_counted_) return;
    count_mover();
    traffic_.set_driver(nullptr);
    traffic_.advance();  // what came before it was counted
}

void Messages::count_mover() {
    bell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    is_counted_ = true;
}

void Messages::uncount_mover() {
    if (!is_counted_) return;
    bell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
    is_counted_ = false;
}

// Once it is done, this thread does not count as one that waits any more.
Messages::Step Messages::step(Operation& operation) {
    if (!mutex_.try_lock()) return Step::Nothing;
    traffic_.set_driver(&operation);
    Step step = Step::Nothing;
    if (!operation.done.load(std::memory_order_relaxed) && traffic_.advance()) step = Step::Moved;
    if (operation.done.load(std::memory_order_relaxed)) {
        step = Step::Done;
        leave_wait();
    }
    List<Operation> ended;
    traffic_.take_ended(ended);
    mutex_.unlock();
    finish_works(ended);
    return step;
}

template <typename Kind>
void Messages::await(Kind& operation) {
    TUTTI_FAULT_POINT("shm.message");
    for (int spin = 0; spin < spins_; ++spin) {
        if (step(operation) == Step::Done) return;
        pause();
    }
    auto moved = Deadline::Clock::now();
    for (auto looked = moved;;) {
        const Step last = step(operation);
        if (last == Step::Done) return;
        const auto now = Deadline::Clock::now();
        if (last == Step::Moved) moved = now;
        if (now >= operation.deadline.when()) {
            const Lock lock(mutex_);
            traffic_.set_driver(&operation);
            if (!operation.done.load(std::memory_order_relaxed)) traffic_.time_out(operation);
        }
        const bool dozes = now - moved >= waiter_yields;
        if (dozes) {
            doze(operation);
        } else {
            ::sched_yield();
        }
        if (dozes || now - looked >= between_looks) {
            looked = now;
            look_around();
        }
    }
}

void Messages::doze(Operation& operation) {
    bell_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t heard = bell_.rings.load(std::memory_order_seq_cst);
    List<Operation> ended;
    bool moved = false;
    {
        const Lock lock(mutex_);
        traffic_.set_driver(&operation);
        moved = traffic_.advance() || operation.done.load(std::memory_order_seq_cst);
        traffic_.take_ended(ended);
    }
    finish_works(ended);
    if (!moved) await_ring(bell_, heard);
    bell_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

// Has the group failed, or a rank left, on which something here waits; is something late?
void Messages::look_around() {
    const auto now = Deadline::Clock::now();
    std::vector<int> peers;
    {
        const Lock lock(mutex_);
        if (now < next_look_) return;
        next_look_ = now + between_looks;
        peers = traffic_.peers_in_use();
    }
    const Status ours = channel_.trouble(channel_.rank());
    std::vector<std::pair<int, Status>> troubles;
    for (const int peer : peers) {
        if (Status status = channel_.trouble(peer); !status.ok()) {
            troubles.emplace_back(peer, std::move(status));
        }
    }
    List<Operation> ended;
    {
        const Lock lock(mutex_);
        traffic_.set_driver(nullptr);
        traffic_.expire(now);
        if (!ours.ok() || !troubles.empty()) {
            while (traffic_.advance()) {  // what they wrote before
            }
        }
        if (!ours.ok()) traffic_.fail(ours);
        for (const auto& [peer, status] : troubles) traffic_.fail(peer, status);
        if (static_cast<int>(troubles.size()) + 1 == channel_.size() && !troubles.empty()) {
            traffic_.fail_any({TUTTI_ERR_PEER_LOST, -1, 0, "all other ranks left the group"});
        }
        traffic_.take_ended(ended);
    }
    finish_works(ended);
}

void Messages::abort(const Status& status) noexcept {
    List<Operation> ended;
    {
        const Lock lock(mutex_);
        traffic_.set_driver(nullptr);
        traffic_.fail(status);
        traffic_.take_ended(ended);
    }
    finish_works(ended);
}

// Everything in the background, while nobody waits; else it looks around now and then.
void Messages::move() noexcept {
    Lock lock(mutex_);
    auto moved = Deadline::Clock::now();
    for (auto looked = moved; !stopping_;) {
        if (traffic_.in_background() == 0) {
            is_idle_ = true;
            employed_.wait(lock);
            is_idle_ = false;
            continue;
        }
        const uint32_t heard = bell_.rings.load(std::memory_order_seq_cst);
        const bool is_needed = waiters_ == 0;
        if (is_needed) count_mover();
        traffic_.set_driver(nullptr);
        const bool has_moved = is_needed && traffic_.advance();
        const auto now = Deadline::Clock::now();
        if (has_moved) moved = now;
        const bool goes_on =
            is_needed && now - moved < mover_yields && (has_moved || traffic_.is_streaming());
        List<Operation> ended;
        traffic_.take_ended(ended);
        is_dozing_ = !goes_on;
        if (goes_on) uncount_mover();
        lock.unlock();
        finish_works(ended);
        if (!goes_on) {
            await_ring(bell_, heard);
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

}  // namespace tutti::shm
