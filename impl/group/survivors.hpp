// The calls that ranks can make of a group that has failed, whoever dies meanwhile: to make a group
// of those that live, and to agree on a value. The caller's thread; one at a time, in the same
// order on all ranks that live.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "core.hpp"
#include "membership/membership.hpp"
#include "votes.hpp"

namespace tutti {

struct ShrinkOptions {
    std::vector<int> excluded;  // ranks of the group, ascending; the same on all that call
    bool ends_calls = false;    // of the group, at once: they may have to end for others to call
    std::string description;    // "": the group's name and the new size
    int64_t timeout_ms = 0;     // 0: the group's
    int min_size = 1;           // no group is made of fewer ranks; the highest of all counts
};

class Survivors {
public:
    explicit Survivors(GroupCore& group) : group_(group) {}

    // Those of the new group. The old one makes no calls afterwards. Throws the same on all ranks
    // that live and are not excluded, or on none; then it may be called again.
    GroupParts shrink(const ShrinkOptions& options);
    // The bits that all ranks have set that live, the same on all of them.
    uint64_t agree(uint64_t flags, int64_t timeout_ms);
    // This rank cannot call that function, for its arguments: the others' calls fail. Does not
    // wait.
    void decline(const char* function, const Status& why) noexcept;

private:
    class Shrinking;
    void check_may_call(const char* function) const;
    [[nodiscard]] Status end_by_this_rank(const char* how) const;
    void end_old_group() noexcept;
    void compare(const Membership::Agreed& agreed, const std::vector<CallOfMany>& calls,
                 const CallOfMany& own, const std::vector<int>& excluded) const;
    // The arguments of all in the place of their payloads.
    Membership::Agreed decide(const CallOfMany& own, const std::vector<int>& excluded,
                              uint32_t new_groups, const Deadline& deadline);

    GroupCore& group_;
};

}  // namespace tutti
