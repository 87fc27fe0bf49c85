// Ranks that wait for each other because they called different things: each tells what it is in
// when nothing has come for a second, and two that are in the same call by number but not by kind
// are the mismatch. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace tutti::membership {

constexpr int64_t stall_ms = 1000;
// Where ranks compare before every call: that tells more, if all come in time.
constexpr int64_t stall_comparing_ms = 5000;

struct Stall {
    uint64_t number = 0;  // of the collective in its group
    std::string call;     // "all_reduce #7 (float32 × 100, SUM)"
    bool operator==(const Stall&) const = default;
};

class Stalls {
public:
    // What another rank's stall and this one prove, if anything.
    std::optional<Status> add(int rank, const Stall& stall);

private:
    std::map<int, Stall> stalls_;  // the latest of each rank
};

}  // namespace tutti::membership
