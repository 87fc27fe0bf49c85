// Finds ranks that wait for each other in different calls: after a second without progress each
// reports its call. Two reports of one sequence number that differ are the mismatch. One thread at
// a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace tutti::membership {

constexpr int64_t stall_ms = 1000;
// Where ranks compare before every call: a better error, if all arrive in time.
constexpr int64_t stall_comparing_ms = 5000;

struct Stall {
    uint64_t sequence = 0;  // of the collective in its group
    std::string call;       // "all_reduce #7 (float32 × 100, SUM)"
    bool operator==(const Stall&) const = default;
};

class Stalls {
public:
    // The mismatch that this stall and another one prove, if any.
    std::optional<Status> add(int rank, const Stall& stall);

private:
    std::map<int, Stall> stalls_;  // the latest of each rank
};

}  // namespace tutti::membership
