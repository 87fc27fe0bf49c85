// Ranks of one host: collectives and messages through memory that all of them map. Any thread.
#pragma once

#include <memory>

#include "backend/backend.hpp"
#include "bootstrap.hpp"
#include "membership/membership.hpp"

namespace tutti::shm {

// After bootstrap(), if all ranks see each other's memory. `name` is static.
std::unique_ptr<Backend> make(Membership& membership, TeamConfig config, const char* name);

}  // namespace tutti::shm
