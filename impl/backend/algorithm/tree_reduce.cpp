#include "algorithm.hpp"
#include "tree.hpp"

namespace tutti::algorithm {

void tree_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                 const Reduction& reduction) {
    const Tree tree = tree_at(exchange.rank(), exchange.size(), root);
    ConstBytes sum = input;
    if (!tree.children.empty()) {
        const Bytes mine = tree.parent ? exchange.room(input.size()) : output;
        std::vector<Bytes> theirs;
        std::vector<Exchange::Ticket> arriving;
        // Who is done first, first.
        for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
            theirs.push_back(exchange.room(input.size()));
            arriving.push_back(exchange.receive(child->rank, theirs.back()));
        }
        for (size_t index = 0; index < arriving.size(); ++index) {
            exchange.wait(arriving[index]);
            reduction.combine(mine, sum, theirs[index]);
            sum = mine;
        }
    }
    if (tree.parent) {
        exchange.wait(exchange.send(*tree.parent, sum));
    } else {
        reduction.finish(output, exchange.size());
    }
}

}  // namespace tutti::algorithm
