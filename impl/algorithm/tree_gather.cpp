#include "algorithm.hpp"
#include "tree.hpp"

namespace tutti::algorithm {

void tree_gather(Exchange& exchange, ConstBytes input, std::span<const Bytes> outputs, int root) {
    const int size = exchange.size();
    const Tree tree = tree_at(exchange.rank(), size, root);
    const auto bytes = [&](int ranks) { return static_cast<size_t>(ranks) * input.size(); };
    ConstBytes collected = input;
    if (!tree.children.empty()) {
        const Bytes all = exchange.room(bytes(tree.ranks));
        for (const auto& child : tree.children) {
            exchange.receive(child.rank, all.subspan(bytes(child.distance), bytes(child.ranks)));
        }
        copy(all.first(input.size()), input);
        exchange.wait_all();
        collected = all;
    }
    if (tree.parent) {
        exchange.wait(exchange.send(*tree.parent, collected));
        return;
    }
    for (int place = 0; place < size; ++place) {
        const auto rank = static_cast<size_t>(around(place, root, size));
        // The root's own may be in place already.
        copy(outputs[rank], place == 0 ? input : collected.subspan(bytes(place), input.size()));
    }
}

}  // namespace tutti::algorithm
