// Ranks of one host: collectives and messages through memory that all of them see. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "meeting.hpp"
#include "membership/membership.hpp"

namespace tutti::shm {

// When the ranks have met, and all see each other's memory. `name` stays.
std::unique_ptr<Backend> make(Membership& membership, Met met, const char* name);

}  // namespace tutti::shm
