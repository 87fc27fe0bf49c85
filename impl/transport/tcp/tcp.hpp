// Ranks that are processes, on one host or many: messages over TCP, moved by who waits for them.
// Any thread.
#pragma once

#include <memory>

#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "transport/channel.hpp"

namespace tutti::tcp {

// All members call this. Connects to nobody yet.
std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline);

}  // namespace tutti::tcp
