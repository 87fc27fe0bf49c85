// The algorithm of a collective by size and number of ranks, measured by tests/bench/tutti-bench.
// The same on all ranks; otherwise they wait for different things.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/cache.hpp"

namespace tutti::shm {

constexpr int max_ranks = 512;                      // a slot has room for a cache line for each
constexpr size_t chunk_bytes = size_t{128} * 1024;  // of data in a slot

enum class Algorithm : uint8_t {
    BySize,
    Staged,    // piece by piece through the slots
    Everyone,  // all_reduce: in one step, and every rank combines everything by itself
    Direct     // ranks read the data where they are, if the system lets them
};

enum class OperationKind : uint8_t {
    Broadcast,
    AllReduce,
    Reduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Gather,
    Scatter,
    Message  // which rings/long_data.hpp of message/ has the sizes of
};
constexpr size_t operation_kinds = 9;
const char* name_of(OperationKind op);

// Overrides of the table, by OperationKind.
using Algorithms = std::array<Algorithm, operation_kinds>;
// From TUTTI_SHM_ALGORITHMS, "all_reduce=staged,broadcast=direct". INVALID_ARGUMENT naming it.
Algorithms algorithms_from_environment();

// An all_reduce up to here: every rank combines everything by itself, in one step.
constexpr size_t everyone_reduces(int ranks) {
    return ranks == 2 ? 8 * KiB : 4 * KiB;
}

// Whether ranks share the combining of staged data: each combines a part and publishes it.
constexpr bool shares_combining(size_t bytes, int ranks) {
    if (ranks > 2) return bytes > everyone_reduces(ranks);
    return bytes >= 32 * KiB && bytes <= 512 * KiB;
}

// For tensors of that size, with up to so many ranks. All others are staged, and so are those that
// cannot be direct.
struct Row {
    OperationKind op;
    int ranks;
    size_t from;
    size_t to;
};
constexpr Row direct_rows[] = {
    {OperationKind::ReduceScatter, 2, 64 * KiB, 4 * MiB},
    {OperationKind::AllGather, 2, 64 * KiB, 2 * MiB},
    {OperationKind::AllToAll, 2, 128 * KiB, 8 * MiB},
};

// Data in shared memory are read in place from here on; shorter data are staged. The source of a
// broadcast then need not wait until they are read.
constexpr size_t shared_from(OperationKind op, int ranks) {
    return op == OperationKind::Broadcast && ranks > 2 ? 128 * KiB : 4 * KiB;
}
// The same for an in-place all_reduce: data just written by another rank are slow to read.
constexpr size_t shared_in_place_from(int ranks) {
    return ranks > 2 ? 32 * MiB : 0;
}

constexpr Algorithm algorithm_for(OperationKind op, int ranks, size_t bytes) {
    if (op == OperationKind::AllReduce && bytes <= everyone_reduces(ranks))
        return Algorithm::Everyone;
    for (const Row& row : direct_rows) {
        if (row.op == op && ranks <= row.ranks && bytes >= row.from && bytes <= row.to) {
            return Algorithm::Direct;
        }
    }
    return Algorithm::Staged;
}

// The length of a piece that a rank stages in a step, for a total size.
constexpr size_t chunk_for(size_t bytes, int ranks) {
    if (ranks > 2 && bytes <= 256 * KiB) return chunk_bytes / 2;
    return chunk_bytes;
}
// The same where some ranks only write and others only read: halves of short data, so that both
// work at the same time.
constexpr size_t one_way_chunk_for(size_t bytes, int ranks) {
    if (ranks > 2) return chunk_for(bytes, ranks);
    return std::clamp(bytes / 2 / cache_line * cache_line, 8 * KiB, chunk_bytes);
}

// The same for an all_reduce whose results are read in place: a piece that stays in the caches
// until the others have read it.
constexpr size_t seen_piece_for(size_t bytes, int ranks) {
    const size_t most = size_t{512} * KiB * static_cast<size_t>(ranks);
    return std::clamp(bytes / cache_line * cache_line, size_t{cache_line}, most);
}
// Up to here each rank that wants the result of a reduction combines everything by itself, if
// inputs are read in place and not overwritten.
constexpr size_t one_combines = shared_cache / 4;
constexpr size_t everyone_combines(int ranks) {
    return ranks == 2 ? one_combines : 128 * KiB;
}

}  // namespace tutti::shm
