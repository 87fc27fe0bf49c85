#include "watcher.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "progress/backoff.hpp"

namespace tutti::device {

void Stop::set(const Status& reason) {
    const Lock lock(mutex_);
    if (is_set_) return;
    reason_ = reason;
    is_set_.store(true, std::memory_order_release);
}

void Stop::check() const {
    if (!is_set()) return;
    const Lock lock(mutex_);
    throw Error(reason_);
}

// Never destroyed, as its thread.
Watcher& Watcher::of_process() {
    static Watcher& watcher = *new Watcher;
    return watcher;
}

void Watcher::start_thread() {
    const Lock lock(mutex_);
    if (is_running_) return;
    tutti::start_thread("tutti-device", [this] { run(); }).detach();
    is_running_ = true;
}

void Watcher::keep(EventPointer until, std::shared_ptr<const void> used) {
    add({.event = std::move(until),
         .step = [used = std::move(used)](const Status&) { return EventPointer(); }});
}

void Watcher::add(Wait wait) {
    const Lock lock(mutex_);
    added_.push_back(std::move(wait));
    changed_.notify_one();
}

void Watcher::run() noexcept {
    std::list<Wait> waits;
    Backoff backoff;
    for (;;) {
        const bool moved = look(waits);
        Lock lock(mutex_);
        if (moved || !added_.empty()) {
            waits.splice(waits.end(), added_);
            backoff.reset();
            continue;
        }
        if (waits.empty()) {
            changed_.wait(lock);
            continue;
        }
        lock.unlock();
        Deadline until = Deadline::never();
        if (!backoff.rests(until)) continue;
        lock.lock();
        if (added_.empty()) changed_.wait(lock, until);
    }
}

bool Watcher::look(std::list<Wait>& waits) noexcept {
    bool moved = false;
    std::vector<Order> held;  // whose turn it is not
    for (auto wait = waits.begin(); wait != waits.end();) {
        const bool has_order = wait->order.owner != nullptr;
        const bool is_held = has_order && std::ranges::find(held, wait->order) != held.end();
        Status status;
        if (!is_over(*wait, is_held, status)) {
            if (has_order && !is_held) held.push_back(wait->order);
            ++wait;
            continue;
        }
        moved = true;
        wait->event = wait->step(status);
        wait->deadline = Deadline::never();
        wait->stop = nullptr;
        if (!wait->event) wait = waits.erase(wait);
    }
    return moved;
}

// One that is held has a deadline all the same.
bool Watcher::is_over(const Wait& wait, bool is_held, Status& status) noexcept {
    try {
        if (!is_held && (!wait.event || wait.event->passed())) return true;
        if (wait.stop) wait.stop->check();
        if (!wait.deadline.expired()) return false;
        status = {TUTTI_ERR_TIMEOUT, -1, 0,
                  cat("timed out after ", wait.deadline.timeout_ms(),
                      " ms, waiting for what this rank's stream does before")};
    } catch (...) {
        status = current_status();
    }
    return true;
}

}  // namespace tutti::device
