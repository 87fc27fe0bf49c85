// Ranks of one host: collectives through memory that all of them see, everything else, and the end
// of things, over a channel. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "meeting.hpp"

namespace tutti::shm {

// A backend on a channel to the other ranks, all of which call this: UNSUPPORTED, naming the rank
// that does not see another one's memory, and why, unless they all see each other's.
std::unique_ptr<Backend> connect(std::unique_ptr<Channel> channel, const Deadline& deadline);

// The same when they have met, and all see each other's memory. `name` stays.
std::unique_ptr<Backend> make(std::unique_ptr<Channel> channel, Met met, const char* name,
                              const Deadline& deadline);

}  // namespace tutti::shm
