// A rank's description of the collective it is in, in front of its data. The receiver compares it,
// so ranks in different calls get an error instead of hanging or mixing their data. Travels as it
// is, little endian.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "tutti/types.h"

namespace tutti {

// Values go over the wire: never renumbered.
enum class CallKind : uint32_t {
    Broadcast = 0,
    AllReduce = 1,
    Barrier = 2,
    Reduce = 3,
    AllGather = 4,
    AllGatherIntoTensor = 5,
    Gather = 6,
    Scatter = 7,
    ReduceScatter = 8,
    ReduceScatterTensor = 9,
    AllToAll = 10,
    AllToAllSingle = 11,
    MonitoredBarrier = 12,
    Coalesced = 13,
    BroadcastObjects = 14,
    AllGatherObjects = 15,
    GatherObjects = 16,
    ScatterObjects = 17,
    BroadcastBytes = 18,
    AllGatherBytes = 19,
    GatherBytes = 20,
    ScatterBytes = 21,
    AllReduceAddends = 22,
    Alloc = 23,
    Breakpoint = 24
};

// `count` where ranks may differ in it.
constexpr int64_t any_count = INT64_MIN;

struct Fingerprint {
    CallKind kind{};
    uint32_t dtype = 0;
    uint32_t op = 0;              // reductions
    int32_t root = -1;            // calls that have one
    int64_t count = 0;            // elements; of a Coalesced: calls
    uint64_t layout = 0;          // a digest of lists that ranks must agree on: counts, calls
    uint64_t device = TUTTI_CPU;  // the type of the buffers' device; calls without any: the CPU

    bool operator==(const Fingerprint&) const = default;
};

// For those below who compare fingerprints and know none.
std::string to_bytes(const Fingerprint& fingerprint);

// "all_reduce".
const char* name_of(CallKind kind);

// The digest with one more value.
uint64_t extend_layout(uint64_t layout, uint64_t value);

// "all_reduce #7 (float32 × 100, SUM)"; a digest is shown by half of it.
std::string describe(const Fingerprint& fingerprint, uint64_t sequence);

// "all_reduce 100 float32": the call in short.
std::string summary(const Fingerprint& fingerprint);

// MISMATCH: the call of the peer and that of this rank.
Status mismatch(int peer, const Fingerprint& theirs, int rank, const Fingerprint& ours,
                uint64_t sequence);
// MISMATCH: a piece whose size only these two ranks know, in bytes. The error's rank is `peer`.
Status size_mismatch(int sender, uint64_t sent, int receiver, uint64_t expected, tutti_dtype dtype,
                     int peer);

}  // namespace tutti
