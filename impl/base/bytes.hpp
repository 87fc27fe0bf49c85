// Memory without a type: what moves between ranks.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace tutti {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// Between memory that is the same or has nothing in common.
inline void copy(Bytes to, ConstBytes from) {
    if (to.data() != from.data() && !from.empty())
        std::memmove(to.data(), from.data(), from.size());
}

}  // namespace tutti
