// A world of processes: each rank has one connection to the coordinator, which rank 0 serves, and
// from which come the names of the dead; a data connection that closes may be a survivor's. Any
// thread but the control loop's, on which groups are told.
#pragma once

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "store/store.hpp"
#include "world.hpp"

namespace tutti {

// Meets the other ranks at the store; returns when all have come. `options` must be the same on all
// of them. TIMEOUT names the ranks that are missing, MISMATCH both sides; PEER_LOST a rank that
// dies meanwhile.
std::shared_ptr<World> meet_processes(const std::shared_ptr<Store>& store, int rank, int size,
                                      const std::string& options, const Deadline& deadline);

}  // namespace tutti
