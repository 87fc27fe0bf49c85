// A count that threads wait on: a thread that changes something notifies, and the threads that wait
// for it look again. Costs a system call only when a thread sleeps. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/deadline.hpp"

namespace tutti {

class Event {
public:
    // Read it before looking at what is waited for, and give it to wait().
    [[nodiscard]] uint32_t ticket() const noexcept {
        return count_.load(std::memory_order_acquire);
    }
    void notify() noexcept;
    // Sleeps until a notify() after the ticket was read; false if the deadline passed first.
    bool wait(uint32_t ticket, const Deadline& deadline) noexcept;

private:
    std::atomic<uint32_t> count_{0};
    std::atomic<uint32_t> sleepers_{0};
};

}  // namespace tutti
