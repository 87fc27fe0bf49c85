// Where callbacks of finished works run: one thread of the process, started with the first
// Work::then and kept; in the order in which the works finished. Any thread.
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "base/status.hpp"

namespace tutti {

// Made when it is registered, so that nothing is left to fail when its work finishes.
struct Callback {
    explicit Callback(std::function<void(const Status&)> call) : function(std::move(call)) {}
    std::function<void(const Status&)> function;
    Status status;
    std::unique_ptr<Callback> next;
};

class Callbacks {
public:
    static Callbacks& shared();

    // Throws OUT_OF_MEMORY if the system has no thread to give.
    void start_thread();
    // After start_thread(). `callback` is called once, with its status, on that thread.
    void add(std::unique_ptr<Callback> callback) noexcept;

private:
    Callbacks() = default;
    [[noreturn]] void run() noexcept;

    Mutex mutex_;
    Condition changed_;
    bool running_ TUTTI_GUARDED_BY(mutex_) = false;
    std::unique_ptr<Callback> first_ TUTTI_GUARDED_BY(mutex_);
    Callback* last_ TUTTI_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace tutti
