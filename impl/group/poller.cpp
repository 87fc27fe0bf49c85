#include "poller.hpp"

#include <utility>

#include "base/thread.hpp"

namespace tutti {

bool Poller::poll() noexcept {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    const bool moved = backend_ != nullptr && backend_->test();
    busy_.store(false, std::memory_order_release);
    return moved;
}

void Poller::begin_waiting() noexcept {
    const Lock lock(mutex_);
    ++waiting_;
}

void Poller::end_waiting() noexcept {
    const Lock lock(mutex_);
    if (--waiting_ == 0 && background_ > 0) changed_.notify_all();
}

void Poller::begin_background() {
    const Lock lock(mutex_);
    if (!thread_.joinable()) thread_ = start_thread("tutti-poll", [this] { run(); });
    ++background_;
    begun_ = true;
    if (waiting_ == 0) changed_.notify_all();
}

void Poller::end_background() noexcept {
    const Lock lock(mutex_);
    --background_;
}

void Poller::run() noexcept {
    Backoff backoff;
    Lock lock(mutex_);
    while (!closed_) {
        if (background_ == 0 || waiting_ > 0) {
            changed_.wait(lock);
            continue;
        }
        if (std::exchange(begun_, false)) backoff.reset();
        lock.unlock();
        const bool moved = poll();
        Deadline until = Deadline::never();
        const bool rests = !moved && backoff.rests(until);
        if (moved) backoff.reset();
        lock.lock();
        if (rests && !closed_) changed_.wait(lock, until);
    }
}

void Poller::close() noexcept {
    std::thread thread;
    {
        const Lock lock(mutex_);
        closed_ = true;
        changed_.notify_all();
        thread = std::move(thread_);
    }
    if (thread.joinable()) thread.join();
    // A thread that saw its work end may still be on its way out of the backend.
    while (busy_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
    backend_ = nullptr;
    busy_.store(false, std::memory_order_release);
}

}  // namespace tutti
