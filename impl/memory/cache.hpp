// The caches of a processor, as far as memory that ranks share is laid out and copied by them.
#pragma once

#include <cstddef>

#include "base/cache_line.hpp"

namespace tutti::shm {

constexpr size_t KiB = 1024;
constexpr size_t MiB = 1024 * KiB;

constexpr size_t shared_cache = 32 * MiB;  // about the size of the cache that ranks share

}  // namespace tutti::shm
