// Finds which ranks see each other's memory: every rank makes its segment and publishes its
// location; the others map it and report success. Then no other process can open it any more. On
// the thread that makes the group.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "message/rings/rings.hpp"
#include "team.hpp"

namespace tutti::shm {

struct BootstrapResult {
    // Ranks that all see each other's memory, ascending; hosts by their first ranks. The same on
    // all ranks.
    std::vector<std::vector<int>> hosts;
    TeamConfig here;          // of this rank's host; without segments where it has none
    std::string why;          // "rank 0 does not see ...", unless all see each other
    int exhausted_rank = -1;  // out of memory or descriptors, which is `why`

    [[nodiscard]] bool all_see_each_other() const { return why.empty(); }
};

// All ranks call this, before anything else. TUTTI_HOSTS="0,0,1" overrides, in turn, the host of
// each rank, for ranks of one host: INVALID_ARGUMENT if it is malformed.
BootstrapResult bootstrap(Membership& membership, const Deadline& deadline);
// Where the rings for messages are in the segments.
message::Neighbours neighbours(const TeamConfig& config);

}  // namespace tutti::shm
