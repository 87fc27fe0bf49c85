// One step that several ranks of a group take together: all come, their arguments are compared, and
// all learn the same outcome. The caller's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "membership/membership.hpp"

namespace tutti {

struct Agreement {
    std::string key;                // of this step alone
    std::vector<int> participants;  // ranks of the group, ascending
    std::string function;           // "new_group"
    // What must be the same on all ranks, as phrases: "ranks 0-3", "backend gloo".
    std::vector<std::string> arguments;
    uint32_t numbers = 0;  // of new groups
};

// Returns the first number of the new groups. Everyone who comes throws if one does: MISMATCH shows
// both sides, TIMEOUT names the ranks that have not come, why one cannot come is passed on.
uint32_t agree(Membership& group, const Agreement& step, const Deadline& deadline);

// This rank cannot come, and tells the others, who throw MISMATCH. Does not wait for them.
void decline(Membership& group, const Agreement& step, const Status& why) noexcept;

}  // namespace tutti
