// Which way serves which size with how many ranks: measured by tests/bench/tutti-bench. The same on
// all ranks, or they wait for different things.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "reduce/reduce.hpp"

namespace tutti::shm {

constexpr size_t cache_line = 64;
constexpr int most_ranks = 512;                     // a slot has room for a cache line for each
constexpr size_t chunk_bytes = size_t{128} * 1024;  // of data in a slot

constexpr size_t KiB = 1024;
constexpr size_t MiB = 1024 * KiB;

constexpr size_t shared_cache = 32 * MiB;  // about the size of the cache that ranks share

enum class Way : uint8_t {
    BySize,
    Staged,    // piece after piece by way of the slots
    Everyone,  // all_reduce: in one step, and every rank combines everything by itself
    Direct     // ranks read the data where they are, if the system lets them
};

enum class Op : uint8_t {
    Broadcast,
    AllReduce,
    Reduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Gather,
    Scatter,
    Message
};
constexpr size_t ops = 9;
const char* name_of(Op op);

// What somebody wants instead of the table, by Op.
using Ways = std::array<Way, ops>;
// From TUTTI_SHM_ALGORITHMS, "all_reduce=staged,broadcast=direct". INVALID_ARGUMENT naming it.
Ways ways_from_environment();

// An all_reduce up to here: every rank combines everything by itself, in one step.
constexpr size_t everyone_reduces(int ranks) {
    return ranks == 2 ? 8 * KiB : 4 * KiB;
}

// Whether ranks share the combining of what is staged: each does a part, and shows it.
constexpr bool shares_combining(size_t bytes, int ranks) {
    if (ranks > 2) return bytes > everyone_reduces(ranks);
    return bytes >= 32 * KiB && bytes <= 512 * KiB;
}

// For tensors of so many bytes, with up to so many ranks. What is in no row is staged, and so is
// what cannot be direct.
struct Row {
    Op op;
    int ranks;
    size_t from;
    size_t to;
};
constexpr Row direct_rows[] = {
    {Op::ReduceScatter, 2, 64 * KiB, 4 * MiB},
    {Op::AllGather, 2, 64 * KiB, 2 * MiB},
    {Op::AllToAll, 2, 128 * KiB, 8 * MiB},
    {Op::Message, 2, 32 * KiB, 256 * KiB},
};

// Data in memory that ranks share are read where they are from here on; shorter ones are shown as
// all others are. Who shows a broadcast need not wait until it was read.
constexpr size_t shared_from(Op op, int ranks) {
    return op == Op::Broadcast && ranks > 2 ? 128 * KiB : 4 * KiB;
}
// The same of an all_reduce whose results take the place of the data: what another rank has just
// written is slow to read.
constexpr size_t shared_in_place_from(int ranks) {
    return ranks > 2 ? 32 * MiB : 0;
}

constexpr Way way_for(Op op, int ranks, size_t bytes) {
    if (op == Op::AllReduce && bytes <= everyone_reduces(ranks)) return Way::Everyone;
    for (const Row& row : direct_rows) {
        if (row.op == op && ranks <= row.ranks && bytes >= row.from && bytes <= row.to) {
            return Way::Direct;
        }
    }
    return Way::Staged;
}

// How much of so many bytes a rank shows in a step.
constexpr size_t chunk_for(size_t bytes, int ranks) {
    if (ranks > 2 && bytes <= 256 * KiB) return chunk_bytes / 2;
    return chunk_bytes;
}
// The same where some ranks only show and others only read: halves of what is short, so that both
// work at the same time.
constexpr size_t one_way_chunk_for(size_t bytes, int ranks) {
    if (ranks > 2) return chunk_for(bytes, ranks);
    return std::clamp(bytes / 2 / cache_line * cache_line, 8 * KiB, chunk_bytes);
}

// The same of an all_reduce whose results are seen where they are: as much as stays in the caches
// until the others have read it.
constexpr size_t seen_piece_for(size_t bytes, int ranks) {
    const size_t most = size_t{512} * KiB * static_cast<size_t>(ranks);
    return std::clamp(bytes / cache_line * cache_line, size_t{cache_line}, most);
}
// Reductions up to here whose inputs are seen where they are, and not overwritten: whoever wants
// the result, one rank or all, combines everything by itself.
constexpr size_t one_combines = shared_cache / 4;
constexpr size_t everyone_combines(int ranks) {
    return ranks == 2 ? one_combines : 128 * KiB;
}

// From here on data are copied page by page, which is slower while they are in the cache; what was
// staged for this rank never is.
constexpr size_t copied_by_pages_from = 256 * KiB;

// How a piece of so many bytes is written where others read it.
Stores staging_stores(size_t bytes);

// How a result of so many bytes is written, if so many ranks have one: what fits the cache that
// they share is wanted there.
constexpr Stores stores_for(size_t bytes, int ranks) {
    return bytes >= shared_cache / static_cast<size_t>(ranks) ? Stores::Streaming
                                                              : Stores::Ordinary;
}

}  // namespace tutti::shm
