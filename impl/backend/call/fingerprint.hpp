// What a rank says of the collective it is in, in front of its data: the receiver compares, so
// ranks that call different things learn it instead of hanging or mixing their data. Travels as it
// is, little endian.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/types.h"

namespace tutti {

// Values go over the wire: never renumbered.
enum class CallKind : uint32_t { Broadcast = 0, AllReduce = 1, Barrier = 2 };

struct Fingerprint {
    CallKind kind{};
    uint32_t dtype = 0;
    uint32_t op = 0;    // reductions
    int32_t root = -1;  // calls that have one
    int64_t count = 0;

    bool operator==(const Fingerprint&) const = default;
};

// "all_reduce #7 (float32 × 100, SUM)".
std::string describe(const Fingerprint& fingerprint, uint64_t number);

}  // namespace tutti
