// The length of a line of the processor's caches. What several threads or processes write is kept
// on lines of its own.
#pragma once

#include <cstddef>

namespace tutti {

constexpr size_t cache_line = 64;

}  // namespace tutti
