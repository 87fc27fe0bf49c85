// Memory of NCCL's own, and its registration with communicators. With mutex(), but for those that
// take it.
#pragma once

#include "communicator.hpp"

namespace fake_nccl {

// A step of the registration that is under way: all ranks come, in one order, with one size.
ncclResult_t poll_registration(Communicator& comm);
// The last kernel touches this memory.
void note_use(Communicator& comm, const char* memory, size_t bytes);
// Says where in its windows the call reaches other ranks' memory, if it does so. Takes it.
void find_places(const Communicator& comm, Collective& call);
// Before and after a communicator goes. Take it.
void check_windows_at_abort(const Communicator& comm);
void forget_windows(Communicator& comm);

}  // namespace fake_nccl
