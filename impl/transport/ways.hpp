// Between which addresses a rank makes further connections to another one. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/address.hpp"

namespace tutti {

// The connections that a rank makes beside the first one to another rank. It is not said if one
// fails.
struct FurtherConnections {
    static constexpr int most = 16;  // with the first one

    // With the first one. Nothing: to ranks of other hosts as many as there are addresses in `own`
    // of the first one's kind.
    std::optional<int> connections{};
    std::vector<std::string> own{};  // addresses that they leave from in turn; none: any
};

struct Way {
    std::optional<net::Address> from;  // nothing: the system's choice
    net::Address to;
};

// `count` ways beside the first connection. They leave from this rank's addresses in turn, from the
// one after the first connection's on, each to the address of the other rank that shares most of
// its network's part; of several, to the one that has been used least. Without addresses of this
// rank all are like the first connection. Fewer, if the other rank has no address of a kind.
std::vector<Way> further_ways(const Way& first, std::span<const net::Address> own,
                              std::span<const net::Address> others, size_t count);

}  // namespace tutti
