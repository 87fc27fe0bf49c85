// The memory of one side of a call, in the order of the ranks: one piece, one for each rank, or
// none. The memory itself is the caller's.
#pragma once

#include <span>

#include "base/few.hpp"

namespace tutti {

template <typename Byte>
using Pieces = Few<std::span<Byte>>;

}  // namespace tutti
