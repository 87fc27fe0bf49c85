#include "algorithm.hpp"

namespace tutti::algorithm {

void ordered_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                            const Reduction& reduction) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    const ConstBytes mine = inputs[static_cast<size_t>(rank)];
    std::vector<Bytes> parts(static_cast<size_t>(size));
    std::vector<Exchange::Ticket> arriving(static_cast<size_t>(size));
    for (int distance = 1; distance < size; ++distance) {
        const auto source = static_cast<size_t>(around(rank, -distance, size));
        parts[source] = exchange.room(mine.size());
        arriving[source] = exchange.receive(static_cast<int>(source), parts[source]);
    }
    for (int distance = 1; distance < size; ++distance) {
        const int target = around(rank, distance, size);
        exchange.send(target, inputs[static_cast<size_t>(target)]);
    }
    parts[static_cast<size_t>(rank)] = exchange.room(mine.size());
    copy(parts[static_cast<size_t>(rank)], mine);
    const Bytes sum = parts.front();
    for (size_t other = 0; other < parts.size(); ++other) {
        if (static_cast<int>(other) != rank) exchange.wait(arriving[other]);
        if (other > 0) reduction.combine(sum, parts[other]);
    }
    exchange.wait_all();  // in place, the output is an input
    reduction.finish(sum, size);
    copy(output, sum);
}

}  // namespace tutti::algorithm
