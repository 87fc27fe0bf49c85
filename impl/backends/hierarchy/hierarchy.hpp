// Ranks of several hosts: collectives through memory inside each host and over a channel between
// them, everything else over the channel. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backends/shm/bootstrap.hpp"
#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "transport/channel.hpp"

namespace tutti::hierarchy {

// After shm::bootstrap(). All ranks call this.
std::unique_ptr<Backend> make(Membership& membership, shm::BootstrapResult bootstrap,
                              const Deadline& deadline);

// The same over an existing channel, for ranks that do not all see each other's memory.
std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, shm::BootstrapResult bootstrap);

}  // namespace tutti::hierarchy
