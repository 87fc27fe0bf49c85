#include "poller.hpp"

#include <chrono>
#include <utility>

#include "base/thread.hpp"

namespace tutti {

namespace {

// Between looks at a backend that runs alone, and after how many that find nothing the thread
// sleeps: to wake it costs the caller of an operation more than the looks.
constexpr std::chrono::microseconds look_rest{100};
constexpr int looks = 10;

}  // namespace

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
    if (--waiting_ == 0 && background_ > 0 && !wakes_soon_) changed_.notify_all();
}

void Poller::begin_background() {
    const Lock lock(mutex_);
    if (!thread_.joinable()) thread_ = start_thread("tutti-poll", [this] { run(); });
    ++background_;
    begun_ = true;
    if (waiting_ == 0 && !wakes_soon_) changed_.notify_all();
}

void Poller::end_background() noexcept {
    const Lock lock(mutex_);
    --background_;
}

void Poller::run() noexcept {
    Backoff backoff;
    int looks_left = 0;
    Lock lock(mutex_);
    while (!closed_) {
        if (waiting_ > 0 || (background_ == 0 && looks_left == 0)) {
            changed_.wait(lock);
            continue;
        }
        looks_left = background_ > 0 ? looks : looks_left - 1;
        if (std::exchange(begun_, false)) backoff.reset();
        lock.unlock();
        const bool moved = poll();
        const bool runs_alone = backend_->runs_alone();
        Deadline until = Deadline::at(Deadline::Clock::now() + look_rest);
        const bool rests = runs_alone || (!moved && backoff.rests(until));
        if (moved) backoff.reset();
        if (!runs_alone) looks_left = 0;
        lock.lock();
        if (!rests || closed_) continue;
        wakes_soon_ = runs_alone;
        changed_.wait(lock, until);
        wakes_soon_ = false;
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
