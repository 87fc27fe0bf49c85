// The split of a communicator, for groups that are made of a group. NCCL asks that all ranks split
// while no call of theirs is under way. So ranks hold back calls, and ask each other, until all of
// them are idle at the same time. The thread that makes the group.
#pragma once

#include <memory>

#include "communicator.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

// On all ranks. Throws Failure. False: not now. Null: this rank is in no new group.
bool split(Communicator& parent, const tutti_backend_place& place, int color,
           std::shared_ptr<Communicator>& made);

}  // namespace tutti::nccl
