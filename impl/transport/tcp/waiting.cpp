#include "waiting.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace tutti::tcp {

namespace {

constexpr int64_t tick_ms = 20;  // without a call, after which the mover looks

}  // namespace

Waiting::Waiting(std::function<bool()> advance, int sockets, int spins)
    : advance_(std::move(advance)),
      sockets_(sockets),
      spins_(spins),
      mover_(mutex_, *this, tick_ms) {}

Waiting::~Waiting() {
    stop();
}

void Waiting::begin_waiting() noexcept {
    ++inside_;
    ++entered_;
}

void Waiting::end_waiting() noexcept {
    if (--inside_ == 0) employ();
}

void Waiting::begin_sleeping() noexcept {
    ++sleeping_;
    end_waiting();
}

void Waiting::end_sleeping() noexcept {
    --sleeping_;
    begin_waiting();
}

void Waiting::hurry() noexcept {
    if (unattended_ == 0) return;
    const Lock lock(mutex_);
    mover_.call();
}

// Without the lock, unless the mover sleeps or a thread counts on it: it and this one either see
// each other's flag.
void Waiting::employ() noexcept {
    const bool has_some = unattended_ > 0 || sleeping_ > 0 || mover_.is_called();
    if (inside_ > 0 || !has_some) return;
    mover_.note_new();
    if (!mover_.needs_notice() && sleeping_ == 0) return;
    const Lock lock(mutex_);
    mover_.wake();
}

void Waiting::wake() noexcept {
    if (is_asleep_) alarm_.ring();
}

bool Waiting::wait(Event& event, uint32_t ticket, const Deadline& deadline) noexcept {
    if (event.ticket() != ticket) return true;
    begin_waiting();
    const bool in_time =
        begin(event) ? lead(event, ticket, deadline) : event.wait(ticket, deadline);
    end(event);
    end_waiting();
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
    Pace pace(spins_, Pace::usual_yields, &crowd_);
    while (event.ticket() == ticket) {
        if (advance_()) {
            pace.moved();
            continue;
        }
        const auto next = pace.next();
        if (next == Pace::Next::Look) continue;
        if (deadline.expired()) return event.ticket() != ticket;
        if (next == Pace::Next::Sleep) sleep(event, ticket, deadline);
    }
    return true;
}

// A thread that notifies this one looks whether it sleeps, and this one looks for a notice when it
// has said that it does.
void Waiting::sleep(const Event& event, uint32_t ticket, const Deadline& deadline) noexcept {
    is_asleep_.exchange(true);
    if (event.ticket() == ticket) alarm_.await_ring_or(sockets_, deadline);
    is_asleep_ = false;
}

void Waiting::start() {
    const Lock lock(mutex_);
    mover_.start();
    mover_.call();
}

void Waiting::stop() noexcept {
    std::thread thread;
    {
        const Lock lock(mutex_);
        thread = mover_.end();
    }
    bell_.ring();
    if (thread.joinable()) thread.join();
}

Attention::Seen Waiting::seen() noexcept {
    return {.has_some = unattended_ > 0,
            .is_wanted = sleeping_ > 0,
            .waiting = inside_,
            .waits = entered_};
}

std::optional<Deadline> Waiting::move() noexcept {
    bell_.await_ring_or(sockets_, Deadline::never());
    if (inside_ == 0) advance_();
    return std::nullopt;
}

}  // namespace tutti::tcp
