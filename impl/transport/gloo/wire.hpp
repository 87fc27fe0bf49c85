// The 64 bits that Gloo calls a slot, where several groups share a connection: the kind of message,
// the receiver's group id, and the rest of the channel's slot. Any thread.
#pragma once

#include <cstdint>

#include "transport/channel.hpp"

namespace tutti::gloo_channel {

class WireSlot {
public:
    // 0 is the first.
    static constexpr uint32_t max_groups = 1u << 24;

    WireSlot(Slot slot, uint32_t group)
        : value_((slot.value() & kinds) | uint64_t{group} << shift | (slot.value() & Slot::low)) {}
    // A control message of one channel to its peer, about the group.
    static WireSlot control(uint32_t group) { return WireSlot(kinds | uint64_t{group} << shift); }
    explicit WireSlot(uint64_t value) : value_(value) {}

    [[nodiscard]] uint64_t value() const { return value_; }
    [[nodiscard]] bool is_control() const { return (value_ & kinds) == kinds; }
    [[nodiscard]] uint32_t group() const {
        return static_cast<uint32_t>(value_ >> shift) & (max_groups - 1);
    }

private:
    static constexpr int shift = Slot::low_bits;
    static constexpr uint64_t kinds = uint64_t{3} << 62;  // never both in a channel's slot
    uint64_t value_;
};

}  // namespace tutti::gloo_channel
