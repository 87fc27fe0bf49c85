// Short data go to the root; of long data every rank combines a part first.
#include "algorithm.hpp"
#include "ordered.hpp"
#include "reduce_by_parts.hpp"

namespace tutti::algorithm {

void ordered_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                    const Reduction& reduction) {
    const bool is_root = exchange.rank() == root;
    const auto ranks = static_cast<size_t>(exchange.size());
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
    reduce_by_parts(exchange, input, output, root, reduction, ordered_reduce_scatter);
}

}  // namespace tutti::algorithm
