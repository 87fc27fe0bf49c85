// Which way serves which size with how many ranks: measured by tests/bench/tutti-bench. The same on
// all ranks, or they wait for different things.
#pragma once

#include <cstddef>

#include "layout.hpp"
#include "reduce/reduce.hpp"

namespace tutti::shm {

// An all_reduce up to here: every rank combines everything by itself, in one step.
constexpr size_t everyone_reduces(int ranks) {
    return ranks == 2 ? 32 * 1024 : 4 * 1024;
}

// How much of so many bytes a rank shows in a step.
constexpr size_t chunk_for(size_t bytes, int ranks) {
    if (ranks > 2 && bytes <= size_t{256} * 1024) return chunk_bytes / 2;
    return chunk_bytes;
}

// How a result of so many bytes is written: what fits the caches is wanted there.
constexpr Stores stores_for(size_t bytes) {
    return bytes >= size_t{4} * 1024 * 1024 ? Stores::Streaming : Stores::Ordinary;
}

}  // namespace tutti::shm
