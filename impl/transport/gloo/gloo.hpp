// Ranks that are processes, on one host or many: messages over TCP, moved by Gloo's unbound
// buffers. Any thread.
#pragma once

#include <memory>

#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "transport/channel.hpp"

namespace tutti::gloo_channel {

// All members call this. Connects to nobody yet.
std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline);

}  // namespace tutti::gloo_channel
