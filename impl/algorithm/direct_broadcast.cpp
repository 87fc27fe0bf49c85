#include "algorithm.hpp"

namespace tutti::algorithm {

void direct_broadcast(Exchange& exchange, Bytes data, int root) {
    const int rank = exchange.rank();
    if (rank != root) {
        exchange.wait(exchange.receive(root, data));
        return;
    }
    for (int distance = 1; distance < exchange.size(); ++distance) {
        exchange.send(around(rank, distance, exchange.size()), data);
    }
    exchange.wait_all();
}

}  // namespace tutti::algorithm
