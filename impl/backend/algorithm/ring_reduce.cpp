#include "algorithm.hpp"

namespace tutti::algorithm {

void ring_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                 const Reduction& reduction) {
    const bool is_root = exchange.rank() == root;
    const auto own = static_cast<size_t>(exchange.rank());
    const auto inputs = even_parts(input, reduction.element(), exchange.size());
    std::vector<Bytes> outputs;
    if (is_root) outputs = even_parts(output, reduction.element(), exchange.size());
    const Bytes sum = is_root ? outputs[own] : exchange.room(inputs[own].size());
    ring_reduce_scatter(exchange, inputs, sum, reduction);
    direct_gather(exchange, sum, outputs, root);
}

}  // namespace tutti::algorithm
