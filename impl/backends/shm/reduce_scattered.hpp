// A reduction in which each rank combines an equal share of every piece, and ranks that want the
// result collect the shares. On the thread of the call.
#pragma once

#include "pieces.hpp"

namespace tutti::shm {

// `output`: empty where the result is not wanted.
void scattered(Team& team, ConstBytes input, Bytes output, const algorithm::Reduction& reduction);

}  // namespace tutti::shm
