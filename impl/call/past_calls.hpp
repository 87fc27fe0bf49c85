// The last calls of a rank, which others are shown when ranks have called different things.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fingerprint.hpp"

namespace tutti {

// A call by its number in the group, from 1 on; 0: none.
struct PastCall {
    Fingerprint call{};
    uint64_t sequence = 0;

    bool operator==(const PastCall&) const = default;
};

class PastCalls {
public:
    void add(const Fingerprint& call, uint64_t sequence) {
        latest_ = {call, sequence};
        all_[sequence % all_.size()] = latest_;
    }
    [[nodiscard]] const PastCall& latest() const { return latest_; }
    // In no order.
    [[nodiscard]] std::span<const PastCall> all() const { return all_; }

private:
    PastCall latest_{};
    std::array<PastCall, 8> all_{};
};

inline const PastCalls no_past_calls{};

}  // namespace tutti
