// Ranks that are threads of one process: messages are copied from the sender's memory to the
// receiver's. The reference for what a Channel means, and what bindings are tested on. Any thread.
#pragma once

#include <memory>

#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "store/store.hpp"

namespace tutti::loopback {

// Meets the other ranks at the store. UNSUPPORTED if they are in another process.
std::unique_ptr<Channel> connect(Store& store, int rank, int size, const Deadline& deadline);

// For a group of one, which has nobody to meet, over whatever backend. `name` is a literal.
std::unique_ptr<Channel> alone(const char* name);

}  // namespace tutti::loopback
