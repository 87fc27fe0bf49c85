// The first frame that comes over a new connection. Any thread.
#pragma once

#include <functional>

#include "base/deadline.hpp"
#include "net/socket.hpp"
#include "protocol.hpp"

namespace tutti::membership {

// Reads nothing behind it: that is for who gets the connection. Throws NETWORK if the connection
// closes before.
void read_answer(net::Socket& socket, const Deadline& deadline,
                 const std::function<void(const Frame&)>& use);

}  // namespace tutti::membership
