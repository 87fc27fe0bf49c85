// One step that several ranks of a group take together: all arrive, their arguments are compared,
// and all learn the same outcome. The caller's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "membership/membership.hpp"

namespace tutti {

struct Agreement {
    std::string key;                // unique
    std::vector<int> participants;  // ranks of the group, ascending
    std::string function;           // "new_group"
    // Facts that must be the same on all ranks, as phrases: "ranks 0-3", "backend gloo".
    std::vector<std::string> arguments;
    uint32_t new_groups = 0;  // how many ids it needs
};

// Returns the first id of the new groups. All that arrive throw if one does: MISMATCH shows both
// sides, TIMEOUT names the missing ranks; the reason why a rank cannot arrive is passed on.
uint32_t agree(Membership& group, const Agreement& step, const Deadline& deadline);

// Ranks did not come to a step of that function before the time of one was up.
Status have_not_called(const StepTimedOut& absence, const std::string& function, int own_rank);

// That rank cannot take part in a call of that function, for its arguments.
Status refused_argument(int rank, const std::string& function, const std::string& why);

// This rank cannot arrive, for its arguments: the others throw MISMATCH. Does not wait for them.
void decline(Membership& group, const Agreement& step, const Status& why) noexcept;
// Nor for a failure of its own: the others throw that. Does not wait for them.
void give_up(Membership& group, const Agreement& step, const Status& why) noexcept;

}  // namespace tutti
