#include "algorithm.hpp"
#include "tree.hpp"

namespace tutti::algorithm {

void tree_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output, int root) {
    const int size = exchange.size();
    const Tree tree = tree_at(exchange.rank(), size, root);
    const auto bytes = [&](int ranks) { return static_cast<size_t>(ranks) * output.size(); };
    // The pieces of this rank's subtree, its own first.
    const Bytes all = tree.children.empty() ? output : exchange.room(bytes(tree.ranks));
    if (tree.parent) {
        exchange.wait(exchange.receive(*tree.parent, all));
    } else {
        for (int place = 0; place < size; ++place) {
            copy(all.subspan(bytes(place), output.size()),
                 inputs[static_cast<size_t>(around(place, root, size))]);
        }
    }
    for (const auto& child : tree.children) {
        exchange.send(child.rank, all.subspan(bytes(child.distance), bytes(child.ranks)));
    }
    copy(output, all.first(output.size()));
    exchange.wait_all();
}

}  // namespace tutti::algorithm
