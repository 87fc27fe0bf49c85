// Memory without a type: what moves between ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tutti {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Between memory that is the same or has nothing in common.
inline void copy(Bytes to, ConstBytes from) {
    if (to.data() != from.data() && !from.empty()) std::ranges::copy(from, to.begin());
}

}  // namespace tutti
