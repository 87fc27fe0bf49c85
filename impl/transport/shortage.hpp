// A shortage of this process, met for a connection, ends the groups that it is for, and no other
// rank is to blame. Any thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/status.hpp"
#include "membership/membership.hpp"
#include "membership/world.hpp"

namespace tutti {

// This process in a group: its rank, and the first collective that has not ended here.
struct OwnPart {
    explicit OwnPart(const Membership& group)
        : rank(group.rank()), first_call(group.first_open_call()) {}
    int rank;
    uint64_t first_call;
};
// `groups`: by the group's id.
void report_shortage(World& world, const std::map<uint32_t, OwnPart>& groups, const Status& lack);

}  // namespace tutti
