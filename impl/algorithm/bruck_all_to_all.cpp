// A piece that has to go d ranks further travels in the rounds that are the bits of d, together
// with all others that have this bit.
#include "algorithm.hpp"

namespace tutti::algorithm {

void bruck_all_to_all(Exchange& exchange, std::span<const ConstBytes> inputs,
                      std::span<const Bytes> outputs) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const size_t piece = outputs.front().size();
    const auto bytes = [&](int pieces) { return static_cast<size_t>(pieces) * piece; };
    // By the distance they have to go, later: by the distance they came.
    const Bytes row = exchange.room(bytes(size));
    for (int distance = 0; distance < size; ++distance) {
        copy(row.subspan(bytes(distance), piece),
             inputs[static_cast<size_t>(around(rank, distance, size))]);
    }
    for (int bit = 1; bit < size; bit *= 2) {
        std::vector<Bytes> travelling;
        for (int distance = bit; distance < size; ++distance) {
            if ((distance & bit) != 0) travelling.push_back(row.subspan(bytes(distance), piece));
        }
        const auto count = static_cast<int>(travelling.size());
        const Bytes going = exchange.room(bytes(count));
        const Bytes coming = exchange.room(bytes(count));
        for (int index = 0; index < count; ++index) {
            copy(going.subspan(bytes(index), piece), travelling[static_cast<size_t>(index)]);
        }
        const auto arrival = exchange.receive(around(rank, -bit, size), coming);
        exchange.send(around(rank, bit, size), going);
        exchange.wait(arrival);
        for (int index = 0; index < count; ++index) {
            copy(travelling[static_cast<size_t>(index)], coming.subspan(bytes(index), piece));
        }
    }
    for (int distance = 0; distance < size; ++distance) {
        copy(outputs[static_cast<size_t>(around(rank, -distance, size))],
             row.subspan(bytes(distance), piece));
    }
    exchange.wait_all();
}

}  // namespace tutti::algorithm
