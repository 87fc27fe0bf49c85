#include <algorithm>
#include <optional>
#include <vector>

#include "algorithm.hpp"

namespace tutti::algorithm {

namespace {

constexpr size_t segment_bytes = 512 * 1024;
constexpr size_t segments_ahead = 4;  // receives posted before the first has come

// Ranks are counted from the root; the parent of a rank is the rank without its lowest set bit.
struct Place {
    std::optional<int> parent;
    std::vector<int> children;  // the one with the largest subtree first
};

Place place_in_tree(int rank, int size, int root) {
    const int relative = (rank - root + size) % size;
    const auto absolute = [&](int other) { return (other + root) % size; };
    Place place;
    int reach = 1;
    while (reach < size && (relative & reach) == 0) reach *= 2;
    if (relative != 0) place.parent = absolute(relative - reach);
    for (int distance = reach / 2; distance > 0; distance /= 2) {
        if (relative + distance < size) place.children.push_back(absolute(relative + distance));
    }
    return place;
}

}  // namespace

void tree_broadcast(Exchange& exchange, std::span<std::byte> data, int root) {
    const Place place = place_in_tree(exchange.rank(), exchange.size(), root);
    const size_t segments = std::max<size_t>(1, (data.size() + segment_bytes - 1) / segment_bytes);
    const auto segment = [&](size_t index) {
        const size_t begin = index * segment_bytes;
        return data.subspan(begin, std::min(segment_bytes, data.size() - begin));
    };
    std::vector<Exchange::Ticket> arriving;
    const auto post = [&] {
        if (place.parent && arriving.size() < segments) {
            arriving.push_back(exchange.receive(*place.parent, segment(arriving.size())));
        }
    };
    while (place.parent && arriving.size() < std::min(segments, segments_ahead)) post();
    for (size_t index = 0; index < segments; ++index) {
        if (place.parent) {
            exchange.wait(arriving[index]);
            post();
        }
        for (const int child : place.children) exchange.send(child, segment(index));
    }
    exchange.wait_all();
}

}  // namespace tutti::algorithm
