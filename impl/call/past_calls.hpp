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
    // In a call without a root a rank hears of all others.
    void add(const Fingerprint& call, uint64_t sequence) {
        const bool hears_all = call.root < 0 && call.kind != CallKind::Coalesced;
        unheard_ = hears_all || !may_end_unheard() ? 0 : unheard_ + 1;
        latest_ = {call, sequence};
        all_[sequence % all_.size()] = latest_;
    }
    // Whether a rank that only sends may leave the next call before the others are known to be in
    // it. So that it is not far ahead of one that has called something else and waits, it may not
    // always.
    [[nodiscard]] bool may_end_unheard() const { return unheard_ < max_unheard; }
    static constexpr int max_unheard = 7;
    [[nodiscard]] const PastCall& latest() const { return latest_; }
    // In no order.
    [[nodiscard]] std::span<const PastCall> all() const { return all_; }

private:
    PastCall latest_{};
    std::array<PastCall, 32> all_{};
    int unheard_ = 0;
};

inline const PastCalls no_past_calls{};

}  // namespace tutti
