// A connection to every other rank of a group, made by tutti itself: each end proves that it
// belongs to the group before Gloo gets the socket. The thread that makes the group.
#pragma once

#include <vector>

#include "base/deadline.hpp"
#include "control/liveness.hpp"
#include "net/socket.hpp"

namespace tutti::gloo_channel {

struct Connection {
    net::Socket socket;
    bool same_host = false;  // as ours
};

// One for each rank; no socket at our own place. `cancel_descriptor` readable: gives up with
// ABORTED.
std::vector<Connection> connect_mesh(Liveness& liveness, int rank, const Deadline& deadline,
                                     int cancel_descriptor);

}  // namespace tutti::gloo_channel
