// The credit of a connection, both ways: how many bytes of Messages each side may send before the
// other one has taken them. Plain numbers; the lock of the pool guards them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "frame.hpp"

namespace tutti::tcp {

class Credit {
public:
    // For what this side sends.

    // Messages that nobody receives leave half of the window to collectives.
    [[nodiscard]] bool covers(size_t bytes, bool is_collective) const {
        const uint32_t kept_free = is_collective ? 0 : window_bytes / 2;
        return charge_of(bytes) + kept_free <= window_;
    }
    void spend(size_t bytes) { window_ -= charge_of(bytes); }
    // A Message of that length is sent empty. Its head stays charged.
    void refund_data(size_t bytes) { window_ += static_cast<uint32_t>(bytes); }
    // It is not sent at all.
    void refund(size_t bytes) { window_ += charge_of(bytes); }
    // False: the other side grants more than this one has spent.
    [[nodiscard]] bool receive(uint32_t granted) {
        if (granted > window_bytes - window_) return false;
        window_ += granted;
        return true;
    }

    // For what the other side sends.

    // True: the debt is worth a frame of its own.
    [[nodiscard]] bool owe(uint64_t length) {
        owed_ += charge_of(length);
        return owed_ >= window_bytes / 2;
    }
    // The debt, which the next frame grants to the other side.
    [[nodiscard]] uint32_t take_owed() { return std::exchange(owed_, 0); }

private:
    uint32_t window_ = window_bytes;  // This side may send that much.
    uint32_t owed_ = 0;               // The other side has not been granted that yet.
};

}  // namespace tutti::tcp
