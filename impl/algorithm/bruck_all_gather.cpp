// Every rank keeps the parts in a row that begins with its own. After round k it has 2^k of them,
// and at the end they are turned to where they belong.
#include "algorithm.hpp"

namespace tutti::algorithm {

void bruck_all_gather(Exchange& exchange, std::span<const Bytes> parts) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const auto part = [&](int place) {
        return parts[static_cast<size_t>(around(rank, place, size))];
    };
    std::vector<size_t> begins{0};
    for (int place = 0; place < size; ++place) {
        begins.push_back(begins.back() + part(place).size());
    }
    const Bytes row = exchange.room(begins.back());
    const auto range = [&](int from, int to) {
        const size_t begin = begins[static_cast<size_t>(from)];
        return row.subspan(begin, begins[static_cast<size_t>(to)] - begin);
    };
    copy(range(0, 1), part(0));
    for (int distance = 1; distance < size; distance *= 2) {
        const int count = std::min(distance, size - distance);
        const auto coming =
            exchange.receive(around(rank, distance, size), range(distance, distance + count));
        exchange.send(around(rank, -distance, size), range(0, count));
        exchange.wait(coming);
    }
    for (int place = 1; place < size; ++place) copy(part(place), range(place, place + 1));
    exchange.wait_all();
}

}  // namespace tutti::algorithm
