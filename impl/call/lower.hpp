// The way from a call to its flat form. Any thread.
#pragma once

#include "call.hpp"
#include "flat.hpp"

namespace tutti {

// A call that was checked, on that rank of a group of that size. Takes the call apart; throws
// nothing but std::bad_alloc.
FlatCall lower(Collective&& call, int rank, int size);

}  // namespace tutti
