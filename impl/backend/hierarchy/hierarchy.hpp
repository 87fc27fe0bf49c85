// Ranks of several hosts: collectives through memory inside each host and over a channel between
// them, everything else, and the end of things, over the channel. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/shm/meeting.hpp"
#include "base/deadline.hpp"
#include "membership/membership.hpp"
#include "transport/channel.hpp"

namespace tutti::hierarchy {

// When the ranks have met. All of them call this.
std::unique_ptr<Backend> make(Membership& membership, shm::Meeting meeting,
                              const Deadline& deadline);

// The same over a channel that is there, for ranks that do not all see each other's memory.
std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, shm::Meeting meeting);

}  // namespace tutti::hierarchy
