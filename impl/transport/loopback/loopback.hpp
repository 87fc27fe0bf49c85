// Ranks that are threads of one process: messages are copied from the sender's memory to the
// receiver's. The reference for what a Channel means, and the substitute on which bindings are
// tested. Any thread.
#pragma once

#include <memory>

#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "transport/channel.hpp"

namespace tutti::loopback {

// All members call this. UNSUPPORTED, naming the rank, if one is in another process. `name` is a
// literal.
std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline,
                              const char* name = "loopback");

}  // namespace tutti::loopback
