// Ranks of several hosts: collectives through memory inside each host and over a channel between
// them, everything else, and the end of things, over the channel. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/channel.hpp"
#include "backend/shm/meeting.hpp"
#include "base/deadline.hpp"

namespace tutti::hierarchy {

// A backend on a channel to the other ranks, all of which call this.
std::unique_ptr<Backend> connect(std::unique_ptr<Channel> channel, const Deadline& deadline);

// The same when they have met.
std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, shm::Meeting meeting,
                              const Deadline& deadline);

}  // namespace tutti::hierarchy
