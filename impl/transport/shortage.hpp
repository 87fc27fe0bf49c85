// A shortage of this process, met for a connection, ends the groups that it is for, and no other
// rank is to blame. Any thread.
#pragma once

#include <cstdint>
#include <map>

#include "base/status.hpp"
#include "membership/world.hpp"

namespace tutti {

// `groups`: the rank that this process has there, by the group's id.
void report_shortage(World& world, const std::map<uint32_t, int>& groups, const Status& lack);

}  // namespace tutti
