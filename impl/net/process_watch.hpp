// Another process of this host, watched through the kernel: when it has ended, and whether one of
// its threads runs. It takes no part in that, so it costs it nothing. Loop thread only, but for
// this_thread().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "loop.hpp"

namespace tutti::net {

// Which thread of which process: never another one's, as numbers of processes are used again.
struct ThreadId {
    int32_t process = 0;  // 0: none that others could watch
    int32_t thread = 0;
    uint64_t started = 0;    // in the kernel's ticks since the host was started
    uint64_t numbering = 0;  // the namespace of these numbers: another's mean other processes
    bool operator==(const ThreadId&) const = default;
};

// The calling thread; none if this system, or what confines the process, does not let anybody watch
// it. Never throws for that.
ThreadId this_thread();

// A descriptor, tracked, that is readable when the process has ended; -1 with errno without one.
int open_pidfd(int32_t process);

class ThreadWatch {
public:
    // `ended` is called once, when the process has ended. Throws UNSUPPORTED if it cannot be
    // watched from here, or is not there any more; OUT_OF_MEMORY without descriptors for it.
    ThreadWatch(Loop& loop, const ThreadId& of, std::function<void()> ended);
    ~ThreadWatch();
    ThreadWatch(const ThreadWatch&) = delete;
    ThreadWatch& operator=(const ThreadWatch&) = delete;

    // Whether the thread has been on a processor since this was asked last.
    [[nodiscard]] bool has_run();
    // Whether it would run if a processor were free for it: not if it is stopped, frozen or waits.
    [[nodiscard]] bool wants_to_run() const;
    // Whether a debugger holds it.
    [[nodiscard]] bool is_held() const;

private:
    struct Core;
    std::unique_ptr<Core> core_;
};

}  // namespace tutti::net
