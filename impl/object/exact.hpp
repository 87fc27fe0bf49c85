// Numbers of a node as a caller wants them, if they fit exactly. Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "node.hpp"

namespace tutti {

// A float64, or an integer that one holds exactly.
inline std::optional<double> exact_real(const Node& node) {
    if (node.kind() == TUTTI_OBJECT_FLOAT64) return node.real();
    if (!node.is_integer()) return std::nullopt;
    const bool large = node.kind() == TUTTI_OBJECT_UINT64;
    const double real = large ? static_cast<double>(node.bits())
                              : static_cast<double>(static_cast<int64_t>(node.bits()));
    // 2^63 and 2^64 are what the greatest integers are rounded to; no integer type holds them.
    if (real >= (large ? 0x1p64 : 0x1p63)) return std::nullopt;
    const uint64_t back =
        large ? static_cast<uint64_t>(real) : static_cast<uint64_t>(static_cast<int64_t>(real));
    if (back != node.bits()) return std::nullopt;
    return real;
}

}  // namespace tutti
