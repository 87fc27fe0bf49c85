#include "algorithm.hpp"

namespace tutti::algorithm {

// The tree of rank 0 combines neighbours only; another one's would begin in the middle.
void ordered_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                    const Reduction& reduction) {
    const int rank = exchange.rank();
    const bool passes_on = rank == 0 && root != 0;
    const Bytes result = passes_on ? exchange.room(input.size()) : output;
    tree_reduce(exchange, input, result, 0, reduction);
    if (passes_on) exchange.wait(exchange.send(root, result));
    if (rank == root && root != 0) exchange.wait(exchange.receive(0, output));
}

}  // namespace tutti::algorithm
