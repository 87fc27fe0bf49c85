// A debugger that holds this process, or may come to: whether one is there, and a stop in it. Any
// thread.
#pragma once

namespace tutti {

// Whether a debugger is attached to the calling thread. False if that cannot be seen.
bool is_traced() noexcept;

// While one lives, every process of this user may attach a debugger to this one, where the kernel
// (Yama) lets only the processes above it.
class OpenToDebuggers {
public:
    OpenToDebuggers() noexcept;
    ~OpenToDebuggers();
    OpenToDebuggers(const OpenToDebuggers&) = delete;
    OpenToDebuggers& operator=(const OpenToDebuggers&) = delete;
};

// The calling thread stops in its debugger, by SIGTRAP, and goes on when that says so. Without a
// debugger it returns at once.
void stop_in_debugger() noexcept;

}  // namespace tutti
