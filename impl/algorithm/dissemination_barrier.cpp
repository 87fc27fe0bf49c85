#include "algorithm.hpp"

namespace tutti::algorithm {

void dissemination_barrier(Exchange& exchange) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    for (int distance = 1; distance < size; distance *= 2) {
        const auto here = exchange.receive((rank - distance + size) % size, {});
        exchange.send((rank + distance) % size, {});
        exchange.wait(here);
    }
    exchange.wait_all();
}

}  // namespace tutti::algorithm
