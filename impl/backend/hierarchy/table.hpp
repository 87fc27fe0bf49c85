// Which way serves which size: measured between network namespaces (tests/net). The same on all
// ranks, or they wait for different things.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tutti::hierarchy {

// Up to here one rank of a host speaks for it; of more data, each of several ranks takes a part
// over the network.
constexpr size_t one_speaks = size_t{256} * 1024;
constexpr int most_lanes = 4;

// `fewest`: the ranks of the host that has the fewest.
constexpr int lanes_for(size_t bytes, int fewest) {
    return bytes <= one_speaks ? 1 : std::min(fewest, most_lanes);
}

// Shorter pieces of an all_to_all go in fewer messages over the channel, some of them by way of
// other ranks.
constexpr size_t shortest_straight_piece = size_t{4} * 1024 + 1;

}  // namespace tutti::hierarchy
