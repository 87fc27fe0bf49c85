// Collectives of a group that are collected first, to be issued as one. Any thread.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "call/coalescing.hpp"
#include "call/overlap_check.hpp"
#include "group.hpp"
#include "memory/held_memory.hpp"

namespace tutti {

class Coalescing {
public:
    // Throws if the group cannot have it, or has failed.
    explicit Coalescing(std::shared_ptr<Group> group, const Device& device = {});

    [[nodiscard]] Group& group() const { return *group_; }
    // Checks the call and takes it over. Throws INVALID_ARGUMENT for one that cannot be coalesced,
    // or that overlaps the memory of another: calls issued as one have no order.
    template <IsCollective Call>
    void collect(Call call) {
        take(group_->collectives().check_and_lower(call));
    }
    // The collected calls, in order, to be run or started as one; nothing is collected afterwards.
    // Throws INVALID_HANDLE the second time.
    Coalesced end();
    // The holds on the memory of the calls, until these are issued: the coalescing may live longer.
    [[nodiscard]] std::vector<MemoryUse> take_uses();

private:
    void take(FlatCall call);
    void check_not_ended() const TUTTI_REQUIRES(mutex_);

    const std::shared_ptr<Group> group_;
    const Device device_;  // of all buffers
    mutable Mutex mutex_;
    bool has_ended_ TUTTI_GUARDED_BY(mutex_) = false;
    Coalesced calls_ TUTTI_GUARDED_BY(mutex_);
    OverlapCheck claims_ TUTTI_GUARDED_BY(mutex_);
    std::vector<MemoryUse> uses_ TUTTI_GUARDED_BY(mutex_);  // until the calls have been issued
};

}  // namespace tutti
