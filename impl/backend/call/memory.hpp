// What memory a call touches on one rank. Plain data.
#pragma once

#include "call.hpp"

namespace tutti {

struct Memory {
    ConstViews written;
    ConstViews read;  // in place: the same as what is written
};

Memory memory_of(const Collective& call, int rank);

}  // namespace tutti
