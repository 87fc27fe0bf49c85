// Who sees whose memory: every rank makes its segment and tells the others where it is; they map
// it, and tell whether they could. Then nobody else can open it any more. On the thread that makes
// the group.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "message/rings/rings.hpp"
#include "team.hpp"

namespace tutti::shm {

struct Meeting {
    // Ranks that all see each other's memory, in ascending order; by their first ranks. The same on
    // all ranks.
    std::vector<std::vector<int>> hosts;
    Met here;         // of this rank's host; where it has no memory to show, without a segment
    std::string why;  // "rank 0 does not see ...", unless all see each other
    int exhausted_rank = -1;  // that has no memory or descriptor for it, which is `why`

    [[nodiscard]] bool all_see_each_other() const { return why.empty(); }
};

// All ranks call this, before anything else. TUTTI_HOSTS="0,0,1" says which host
// each rank is taken to be on, in turn, of those that are on one: INVALID_ARGUMENT if it is
// malformed.
Meeting meet(Membership& membership, const Deadline& deadline);
// Where the rings for messages are in the segments of those that have met.
message::Neighbours neighbours(const Met& met);

}  // namespace tutti::shm
