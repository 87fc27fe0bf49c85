#include "algorithm.hpp"

namespace tutti::algorithm {

void direct_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                    int root) {
    const int rank = exchange.rank();
    if (rank != root) {
        exchange.wait(exchange.receive(root, output));
        return;
    }
    for (int distance = 1; distance < exchange.size(); ++distance) {
        const int target = around(rank, distance, exchange.size());
        exchange.send(target, inputs[static_cast<size_t>(target)]);
    }
    copy(output, inputs[static_cast<size_t>(rank)]);
    exchange.wait_all();
}

}  // namespace tutti::algorithm
