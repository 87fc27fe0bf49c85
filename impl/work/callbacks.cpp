// No lock is held while a callback runs. The thread goes with the process; static destructors leave
// it alone.
#include "callbacks.hpp"

#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"

namespace tutti {

Callbacks& Callbacks::of_program() {
    static Callbacks& all = *new Callbacks("tutti-callback");
    return all;
}

Callbacks& Callbacks::of_library() {
    static Callbacks& all = *new Callbacks("tutti-delivery");
    return all;
}

void Callbacks::start_thread() {
    const Lock lock(mutex_);
    if (running_) return;
    tutti::start_thread(thread_, [this] { run(); }).detach();
    running_ = true;
}

void Callbacks::add(std::unique_ptr<Callback> callback) noexcept {
    const Lock lock(mutex_);
    Callback* const added = callback.get();
    (first_ ? last_->next : first_) = std::move(callback);
    last_ = added;
    changed_.notify_one();
}

void Callbacks::run() noexcept {
    Lock lock(mutex_);
    for (;;) {
        while (!first_) changed_.wait(lock);
        std::unique_ptr<Callback> callback = std::move(first_);
        first_ = std::move(callback->next);
        lock.unlock();
        try {
            callback->function(callback->status);
        } catch (...) {
            log(LogLevel::Error, "a callback of a work has thrown");
        }
        callback.reset();  // and what it holds
        lock.lock();
    }
}

}  // namespace tutti
