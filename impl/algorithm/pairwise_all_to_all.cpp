#include "algorithm.hpp"

namespace tutti::algorithm {

void pairwise_all_to_all(Exchange& exchange, std::span<const ConstBytes> inputs,
                         std::span<const Bytes> outputs) {
    const int rank = exchange.rank();
    const int size = exchange.size();
    std::vector<Exchange::Ticket> arriving;
    for (int distance = 1; distance < size; ++distance) {
        const int peer = around(rank, distance, size);
        const auto place = static_cast<size_t>(peer);
        arriving.push_back(exchange.swap(peer, inputs[place], outputs[place]).incoming);
    }
    copy(outputs[static_cast<size_t>(rank)], inputs[static_cast<size_t>(rank)]);
    for (const auto ticket : arriving) exchange.wait(ticket);  // first: they show other sizes
    exchange.wait_all();
}

}  // namespace tutti::algorithm
