// The address at which the ranks of a group on other hosts reach this one, for what can listen at
// one address alone. Any thread.
#pragma once

#include <string>

#include "base/deadline.hpp"

namespace tutti {
class Membership;
}

namespace tutti::membership {

// Numeric. A loopback address if all are on this host and the environment names no interface. All
// ranks of the group call it: they tell each other how they see each other's hosts.
std::string common_address(Membership& group, const std::string& key, const Deadline& deadline);

}  // namespace tutti::membership
