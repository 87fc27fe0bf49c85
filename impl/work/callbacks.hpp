// The thread on which callbacks of finished works run: one of the process, started with the first
// of them and kept; in the order in which the works finished. Any thread.
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "base/status.hpp"

namespace tutti {

class Callbacks;

// Made when it is registered, so that nothing is left to fail when its work finishes.
struct Callback {
    explicit Callback(std::function<void(const Status&)> call) : function(std::move(call)) {}
    std::function<void(const Status&)> function;
    Status status;
    Callbacks* thread = nullptr;  // where it runs
    std::unique_ptr<Callback> next;
};

class Callbacks {
public:
    // Callbacks of the program, which may take any time.
    static Callbacks& of_program();
    // Callbacks of this library, which only work, and never wait.
    static Callbacks& of_library();

    // Throws OUT_OF_MEMORY if the system has no thread to give.
    void start_thread();
    // After start_thread(). `callback` is called once, with its status, on that thread.
    void add(std::unique_ptr<Callback> callback) noexcept;

private:
    explicit Callbacks(const char* thread) : thread_(thread) {}
    [[noreturn]] void run() noexcept;

    const char* const thread_;
    Mutex mutex_;
    Condition changed_;
    bool running_ TUTTI_GUARDED_BY(mutex_) = false;
    std::unique_ptr<Callback> first_ TUTTI_GUARDED_BY(mutex_);
    Callback* last_ TUTTI_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace tutti
