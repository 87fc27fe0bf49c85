// Counts the users of something that ends: when it is shut, a thread waits until all have left. A
// user that enters and leaves while it is open takes no lock. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.hpp"

namespace tutti {

class Gate {
public:
    // One more user. False: it is shut, and the user leaves at once unless its owner knows better.
    [[nodiscard]] bool enter() noexcept { return (users_.fetch_add(one_user) & shut_bit) == 0; }
    // The owner may be gone when this returns, if the gate is shut.
    void leave() noexcept {
        uint64_t users = users_.load();
        while ((users & shut_bit) == 0) {
            if (users_.compare_exchange_weak(users, users - one_user)) return;
        }
        leave_shut();
    }
    void shut() noexcept { users_.fetch_or(shut_bit); }
    [[nodiscard]] bool is_shut() const noexcept {
        return (users_.load(std::memory_order_relaxed) & shut_bit) != 0;
    }
    // Shuts it, and returns when nobody uses it.
    void wait_until_unused() noexcept;

private:
    static constexpr uint64_t shut_bit = 1;
    static constexpr uint64_t one_user = 2;

    void leave_shut() noexcept;

    std::atomic<uint64_t> users_{0};
    Mutex mutex_;  // of those that leave, once it is shut
    Condition left_;
};

// A user while it lives, if the gate let it in.
class GateUse {
public:
    explicit GateUse(Gate& gate) noexcept : gate_(gate), is_open_(gate.enter()) {}
    ~GateUse() { gate_.leave(); }
    GateUse(const GateUse&) = delete;
    GateUse& operator=(const GateUse&) = delete;

    [[nodiscard]] bool is_open() const noexcept { return is_open_; }

private:
    Gate& gate_;
    const bool is_open_;
};

}  // namespace tutti
