#include "waiting.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/open_descriptors.hpp"
#include "base/pause.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"

namespace tutti::tcp {

namespace {

constexpr int yields = 400;
constexpr int waits_without_spins = 64;  // after one in which others needed the processor
constexpr int64_t tick_ms = 20;          // without a call, after which the thread of our own looks

int open_event() {
    const int event = open_tracked([] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (event < 0) throw call_error("eventfd", "eventfd", errno);
    return event;
}

void set(int event) noexcept {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}

// Whether those that ran meanwhile have work to do: then a thread that sleeps gets the processor
// back sooner than one that yields it.
bool yields_to_workers() noexcept {
    const auto before = Deadline::Clock::now();
    ::sched_yield();
    return Deadline::Clock::now() - before > std::chrono::microseconds(200);
}

// Until there is something on the sockets, or the event is set, which it is no more afterwards.
void await_either(int sockets, int event, int timeout_ms) noexcept {
    std::array<pollfd, 2> either{pollfd{sockets, POLLIN, 0}, pollfd{event, POLLIN, 0}};
    ::poll(either.data(), either.size(), timeout_ms);
    if (either[1].revents == 0) return;
    uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event, &count, sizeof count);
}

}  // namespace

Waiting::Waiting(std::function<bool()> advance, int sockets, int spins)
    : advance_(std::move(advance)),
      sockets_(sockets),
      spins_(spins),
      alarm_(open_event()),
      bell_(open_event()) {}

Waiting::~Waiting() {
    stop();
}

void Waiting::enter() noexcept {
    ++inside_;
    ++entered_;
}

void Waiting::leave() noexcept {
    if (--inside_ == 0) employ();
}

void Waiting::leave_to_sleep() noexcept {
    ++sleeping_;
    leave();
}

void Waiting::enter_from_sleep() noexcept {
    --sleeping_;
    enter();
}

void Waiting::hurry() noexcept {
    if (unattended_ == 0) return;
    const Lock lock(mutex_);
    is_called_ = true;
    employed_.notify_one();
}

void Waiting::employ() noexcept {
    if (!is_employed()) return;
    has_new_ = true;
    if (!is_parked_ && sleeping_ == 0) return;
    const Lock lock(mutex_);
    employed_.notify_one();
}

void Waiting::wake() noexcept {
    if (is_asleep_) set(alarm_.get());
}

bool Waiting::wait(Event& event, uint32_t ticket, const Deadline& deadline) noexcept {
    if (event.ticket() != ticket) return true;
    enter();
    const bool in_time =
        begin(event) ? lead(event, ticket, deadline) : event.wait(ticket, deadline);
    end(event);
    leave();
    return in_time;
}

// Whether the thread is to lead.
bool Waiting::begin(Event& event) {
    const Lock lock(mutex_);
    if (leader_ == nullptr) {
        leader_ = &event;
        return true;
    }
    followers_.push_back(&event);
    return false;
}

// There is a leader while any thread waits.
void Waiting::end(Event& event) noexcept {
    const Lock lock(mutex_);
    if (leader_ == &event) {
        leader_ = nullptr;
    } else {
        std::erase(followers_, &event);
    }
    if (leader_ == nullptr && !followers_.empty()) followers_.front()->notify();
}

bool Waiting::lead(Event& event, uint32_t ticket, const Deadline& deadline) noexcept {
    const bool is_crowded = crowded_waits_ > 0;
    if (is_crowded) --crowded_waits_;
    const int spins = is_crowded ? 0 : spins_;
    for (int idle = 0; event.ticket() == ticket;) {
        if (advance_()) {
            idle = 0;
        } else if (++idle <= spins) {
            pause();
        } else if (deadline.expired()) {
            return event.ticket() != ticket;
        } else if (crowded_waits_ == 0 && idle <= spins + yields) {
            if (yields_to_workers()) crowded_waits_ = waits_without_spins;
        } else {
            sleep(event, ticket, deadline);
        }
    }
    return true;
}

// A thread that tells this one something looks whether it sleeps, and this one looks for that when
// it has said that it does.
void Waiting::sleep(const Event& event, uint32_t ticket, const Deadline& deadline) noexcept {
    is_asleep_.exchange(true);
    if (event.ticket() == ticket) await_either(sockets_, alarm_.get(), deadline.poll_ms());
    is_asleep_ = false;
}

void Waiting::start() {
    const Lock lock(mutex_);
    if (!thread_.joinable()) thread_ = start_thread("tutti-tcp", [this] { attend(); });
    is_called_ = true;
    employed_.notify_one();
}

void Waiting::stop() noexcept {
    std::thread thread;
    {
        const Lock lock(mutex_);
        is_ending_ = true;
        employed_.notify_one();
        thread.swap(thread_);
    }
    set(bell_.get());
    if (thread.joinable()) thread.join();
}

// Returns true when it is time to look at the sockets.
bool Waiting::rest(Lock& lock) {
    const bool has_unattended = unattended_ > 0;
    const bool had_unattended = std::exchange(saw_unattended_, has_unattended);
    const uint64_t entered = entered_;
    const bool has_calls = std::exchange(seen_entered_, entered) != entered;
    if (inside_ == 0) {
        const bool is_left_alone = has_unattended && had_unattended && !has_calls;
        const bool is_wanted = is_called_ || sleeping_ > 0;
        if (is_wanted || is_left_alone || (has_unattended && looks_.are_off())) {
            looks_.found_something();
            return true;
        }
    }
    // A thread that has waited since the last look will say when it leaves.
    const bool is_attended = inside_ > 0 && !has_calls;
    const auto until_look =
        is_attended ? std::nullopt : looks_.next(has_new_.exchange(false) || has_unattended);
    if (until_look) {
        employed_.wait(lock, Deadline::at(Deadline::Clock::now() + *until_look));
        return false;
    }
    is_parked_ = true;
    const bool is_told = is_employed() || employed_.wait(lock, Deadline::after_ms(tick_ms));
    is_parked_ = false;
    return !is_told && inside_ == 0 && entered_ == entered;
}

void Waiting::attend() noexcept {
    Looks::make_timers_exact();
    Lock lock(mutex_);
    while (!is_ending_) {
        if (!rest(lock)) continue;
        is_called_ = false;
        lock.unlock();
        await_either(sockets_, bell_.get(), -1);
        if (inside_ == 0) advance_();
        lock.lock();
    }
}

}  // namespace tutti::tcp
