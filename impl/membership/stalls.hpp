// Finds ranks that wait for each other in different calls: after a second without progress each
// reports its call, and those it made before. A report proves what its rank has called, however
// late it comes: two of one sequence number that differ are the mismatch. Whether a rank moves data
// already or still compares its call with the others' is no part of it: ranks in one call may be in
// either. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace tutti::membership {

constexpr int64_t stall_ms = 1000;

struct Stall {
    uint64_t sequence = 0;        // of the collective in its group
    std::string call;             // what all ranks must have called alike, in bytes
    bool compares_first = false;  // the rank begins with a step in which all compare their calls
    std::string text;             // "all_reduce #7 (float32 × 100, SUM)"
    bool operator==(const Stall&) const = default;
};

class Stalls {
public:
    // The mismatch that this stall and another one prove, if any.
    std::optional<Status> add(int rank, const Stall& stall);

private:
    struct Claim {
        int rank;
        Stall stall;
    };
    std::map<uint64_t, Claim> first_;  // of each sequence number, so long as it may be of use
};

}  // namespace tutti::membership
