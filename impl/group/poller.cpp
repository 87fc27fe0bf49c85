#include "poller.hpp"

#include <chrono>
#include <thread>

#include "progress/sleep.hpp"

namespace tutti {

namespace {

constexpr std::chrono::microseconds look_rest{100};  // between looks at a backend that runs alone

}  // namespace

bool Poller::advance() noexcept {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const bool moved = backend_ != nullptr && backend_->test();
    busy_.store(false, std::memory_order_release);
    return moved;
}

void Poller::begin_waiting() noexcept {
    const Lock lock(mutex_);
    ++waiting_;
    ++waits_;
}

void Poller::end_waiting() noexcept {
    const Lock lock(mutex_);
    if (--waiting_ == 0 && background_ > 0) mover_.notify();
}

void Poller::begin_background() {
    const Lock lock(mutex_);
    mover_.start();
    ++background_;
    has_begun_ = true;
    mover_.note_new();
    if (waiting_ == 0) mover_.notify();
}

void Poller::end_background() noexcept {
    const Lock lock(mutex_);
    --background_;
}

Attention::Seen Poller::seen() noexcept {
    return {.has_some = background_ > 0, .waiting = waiting_, .waits = waits_};
}

std::optional<Deadline> Poller::move() noexcept {
    if (has_begun_.exchange(false)) backoff_.reset();
    const bool moved = advance();
    if (moved) backoff_.reset();
    if (backend_->runs_alone()) return Deadline::at(Deadline::Clock::now() + look_rest);
    Deadline until = Deadline::never();
    if (moved || !backoff_.rests(until)) return std::nullopt;
    return until;
}

void Poller::close() noexcept {
    std::thread thread;
    {
        const Lock lock(mutex_);
        thread = mover_.end();
    }
    if (thread.joinable()) thread.join();
    // A thread that saw its work end may still be on its way out of the backend.
    while (busy_.exchange(true, std::memory_order_acquire)) yield();
    backend_ = nullptr;
    busy_.store(false, std::memory_order_release);
}

}  // namespace tutti
