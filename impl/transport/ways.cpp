#include "ways.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace tutti {

namespace {

using net::Address;

// The bits that hosts of one network share at least; IPv4 and IPv6.
constexpr size_t network_bits_4 = 24;
constexpr size_t network_bits_6 = 64;

std::span<const uint8_t> bytes_of(const Address& address) {
    if (address.family() == AF_INET) {
        const auto* const in = reinterpret_cast<const sockaddr_in*>(address.get());
        return {reinterpret_cast<const uint8_t*>(&in->sin_addr), sizeof in->sin_addr};
    }
    const auto* const in = reinterpret_cast<const sockaddr_in6*>(address.get());
    return {reinterpret_cast<const uint8_t*>(&in->sin6_addr), sizeof in->sin6_addr};
}

// Bits of the network's part.
size_t bits_in_common(const Address& one, const Address& other) {
    const auto a = bytes_of(one);
    const auto b = bytes_of(other);
    size_t bits = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const auto differ = static_cast<uint8_t>(a[i] ^ b[i]);
        bits += static_cast<size_t>(std::countl_zero(differ));
        if (differ != 0) break;
    }
    return std::min(bits, one.family() == AF_INET ? network_bits_4 : network_bits_6);
}

bool are_same(const Address& one, const Address& other) {
    return one.family() == other.family() && std::ranges::equal(bytes_of(one), bytes_of(other));
}

}  // namespace

std::vector<Way> further_ways(const Way& first, std::span<const Address> own,
                              std::span<const Address> others, size_t count) {
    std::vector<Way> ways;
    if (own.empty()) {
        ways.assign(count, {std::nullopt, first.to});
        return ways;
    }
    const auto uses = [&](const Address& of) {
        return std::ranges::count_if(ways, [&](const Way& way) { return are_same(way.to, of); }) +
               (are_same(first.to, of) ? 1 : 0);
    };
    const auto found = std::ranges::find_if(
        own, [&](const Address& one) { return first.from && are_same(one, *first.from); });
    const auto begin = found == own.end() ? 0 : static_cast<size_t>(found - own.begin()) + 1;
    for (size_t i = 0; i < count; ++i) {
        const Address& from = own[(begin + i) % own.size()];
        const Address* best = nullptr;
        const auto rank = [&](const Address& to) {
            return std::tuple(bits_in_common(from, to), -uses(to));
        };
        for (const Address& to : others) {
            if (to.family() != from.family()) continue;
            if (best == nullptr || rank(to) > rank(*best)) best = &to;
        }
        if (best != nullptr) ways.push_back({from, *best});
    }
    return ways;
}

}  // namespace tutti
