// A world of processes: each rank has one connection to the coordinator, which rank 0 serves unless
// somebody else does, and from which come the names of the dead; a data connection that closes may
// be a survivor's. Any thread but the control loop's, on which groups are told.
#pragma once

#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "invitation.hpp"
#include "store/store.hpp"
#include "world.hpp"

namespace tutti {

// Finds the other ranks at the store; returns when all are there. `options` must be the same on all
// of them. TIMEOUT names the missing ranks, MISMATCH shows both sides, PEER_LOST names a rank that
// died in the process.
std::shared_ptr<World> bootstrap_processes(const std::shared_ptr<Store>& store, int rank, int size,
                                           const std::string& options, const Deadline& deadline);
// The same through a coordinator that is no rank. When it goes, the lowest rank that is left
// follows, and no rank is lost.
std::shared_ptr<World> meet_through(const membership::Invitation& coordinator,
                                    const std::shared_ptr<Store>& store, int rank, int size,
                                    const std::string& options, const Deadline& deadline);

}  // namespace tutti
