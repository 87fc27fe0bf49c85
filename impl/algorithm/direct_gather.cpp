#include "algorithm.hpp"

namespace tutti::algorithm {

void direct_gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs, int root) {
    const int rank = exchange.rank();
    if (rank != root) {
        exchange.wait(exchange.send(root, input));
        return;
    }
    for (int distance = 1; distance < exchange.size(); ++distance) {
        const int source = around(rank, distance, exchange.size());
        exchange.receive(source, outputs[static_cast<size_t>(source)]);
    }
    copy(outputs[static_cast<size_t>(rank)], input);
    exchange.wait_all();
}

}  // namespace tutti::algorithm
