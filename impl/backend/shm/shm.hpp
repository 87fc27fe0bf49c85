// Ranks of one host: collectives through memory that all of them see, everything else, and the end
// of things, over a channel. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"

namespace tutti::shm {

// A backend on a channel to the other ranks, all of which call this: "shm" if they see each other's
// memory. Else the channel by itself, or, if it is `required`, UNSUPPORTED, naming the rank that
// does not see another's, and why.
std::unique_ptr<Backend> connect(std::unique_ptr<Channel> channel, bool required,
                                 const Deadline& deadline);

}  // namespace tutti::shm
