// Short data go to the root; of long data every rank combines a part first.
#include "algorithm.hpp"
#include "ordered.hpp"
#include "reduce_by_parts.hpp"

namespace tutti::algorithm {

namespace {

// `output` may be `input`.
void gathered_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                     const Reduction& reduction) {
    const bool is_root = exchange.rank() == root;
    std::vector<Bytes> parts;
    std::vector<const void*> all;
    for (int rank = 0; is_root && rank < exchange.size(); ++rank) {
        parts.push_back(rank == root ? unwritten(input) : exchange.room(input.size()));
        all.push_back(parts.back().data());
    }
    direct_gather(exchange, input, parts, root);
    if (!is_root) return;
    reduction.combine_all(output, all, Stores::Ordinary);
    reduction.finish(output, exchange.size());
}

}  // namespace

void ordered_reduce(Exchange& exchange, ConstBytes input, Bytes output, int root,
                    const Reduction& reduction) {
    const auto ranks = static_cast<size_t>(exchange.size());
    const size_t max_gathered =
        reduction.accumulates_in_float32() ? short_inputs_of_sums : short_addends;
    if (input.size() <= max_gathered / ranks) {
        return gathered_reduce(exchange, input, output, root, reduction);
    }
    reduce_by_parts(exchange, input, output, root, reduction, ordered_reduce_scatter);
}

}  // namespace tutti::algorithm
