// Threads for what nobody waits for, or what may hang in NCCL.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace tutti::nccl {

// False: the system gives no thread, and nothing runs.
template <typename Body>
bool start_detached(Body&& body) {
    try {
        std::thread(std::forward<Body>(body)).detach();
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

}  // namespace tutti::nccl
