// Memory of tutti_alloc that the program holds. Any thread.
#pragma once

#include <cstddef>

namespace tutti::capi {

// How many pieces.
size_t count_memory();

}  // namespace tutti::capi
