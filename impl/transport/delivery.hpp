// The end of connections: what this rank has sent and the kernel still holds reaches the others
// before the sockets go.
#pragma once

#include <functional>
#include <vector>

#include "base/deadline.hpp"

namespace tutti {

// Sends no more on `all`, and returns when what was sent on those that are still of use has
// arrived, or at the deadline. Drops what comes.
void deliver(const std::vector<int>& all, const std::function<bool(int socket)>& is_of_use,
             const Deadline& deadline) noexcept;

}  // namespace tutti
