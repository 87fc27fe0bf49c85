// The choices by size, measured between network namespaces (tests/net). The same on all ranks;
// otherwise they wait for different things.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tutti::hierarchy {

// Up to here one rank of a host is its leader; with more data, several ranks each send a part over
// the network.
constexpr size_t one_leader_bytes = size_t{256} * 1024;
constexpr int max_lanes = 4;

// `fewest`: the ranks of the host that has the fewest.
constexpr int lanes_for(size_t bytes, int fewest) {
    return bytes <= one_leader_bytes ? 1 : std::min(fewest, max_lanes);
}

// Up to here the hosts' sums of float16 and bfloat16, which are float32, are exchanged as a whole,
// and each host rounds all of them; with more data each rounds a part.
constexpr size_t whole_sums_bytes = size_t{16} * 1024;

// Shorter pieces of an all_to_all go in fewer messages over the channel, some of them through other
// ranks.
constexpr size_t min_straight_piece = size_t{4} * 1024 + 1;

}  // namespace tutti::hierarchy
