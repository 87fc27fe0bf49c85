#include "algorithm.hpp"
#include "tree.hpp"

namespace tutti::algorithm {

void tree_broadcast(Exchange& exchange, Bytes data, int root) {
    const Tree tree = tree_at(exchange.rank(), exchange.size(), root);
    const size_t segments = segments_of(data.size());
    std::vector<Exchange::Ticket> arriving;
    const auto post = [&] {
        if (tree.parent && arriving.size() < segments) {
            arriving.push_back(exchange.receive(*tree.parent, segment_of(data, arriving.size())));
        }
    };
    while (tree.parent && arriving.size() < std::min(segments, segments_ahead)) post();
    for (size_t index = 0; index < segments; ++index) {
        if (tree.parent) {
            exchange.wait(arriving[index]);
            post();
        }
        for (const auto& child : tree.children) exchange.send(child.rank, segment_of(data, index));
    }
    exchange.wait_all();
}

}  // namespace tutti::algorithm
