// Shared by reductions of long data by a reduce_scatter: even parts, and their results to the root.
// On the thread of the call; throws what Exchange throws.
#pragma once

#include "algorithm.hpp"

namespace tutti::algorithm {

// `scatter`: ring_reduce_scatter, or another with the same parameters.
inline void reduce_by_parts(Exchange& exchange, ConstBytes input, Bytes output, int root,
                            const Reduction& reduction, decltype(ring_reduce_scatter)& scatter) {
    const bool is_root = exchange.rank() == root;
    const auto own = static_cast<size_t>(exchange.rank());
    const auto inputs = even_parts(input, reduction.element(), exchange.size());
    std::vector<Bytes> results;
    if (is_root) results = even_parts(output, reduction.element(), exchange.size());
    const Bytes mine = is_root ? results[own] : exchange.room(inputs[own].size());
    scatter(exchange, inputs, mine, reduction);
    direct_gather(exchange, mine, results, root);
}

}  // namespace tutti::algorithm
