// Short data go to the root; of long data every rank combines a part first.
#include "algorithm.hpp"
#include "ordered.hpp"

namespace tutti::algorithm {

void ordered_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                    const Reduction& reduction) {
    const bool is_root = exchange.rank() == root;
    const auto ranks = static_cast<size_t>(exchange.size());
    const auto own = static_cast<size_t>(exchange.rank());
    if (input.size() <= short_addends / ranks) {
        std::vector<Bytes> parts;
        std::vector<const void*> all;
        for (size_t rank = 0; is_root && rank < ranks; ++rank) {
            parts.push_back(exchange.room(input.size()));
            all.push_back(parts.back().data());
        }
        direct_gather(exchange, input, parts, root);
        if (!is_root) return;
        reduction.combine_all(output, all, Stores::Ordinary);
        return reduction.finish(output, exchange.size());
    }
    const auto inputs = even_parts(input, reduction.element(), exchange.size());
    std::vector<Bytes> results;
    if (is_root) results = even_parts(output, reduction.element(), exchange.size());
    const Bytes mine = is_root ? results[own] : exchange.room(inputs[own].size());
    ordered_reduce_scatter(exchange, inputs, mine, reduction);
    direct_gather(exchange, mine, results, root);
}

}  // namespace tutti::algorithm
