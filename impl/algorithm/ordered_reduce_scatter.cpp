#include "algorithm.hpp"
#include "ordered.hpp"

namespace tutti::algorithm {

void ordered_reduce_scatter(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                            const Reduction& reduction) {
    std::vector<Addends> parts;
    for (const ConstBytes input : inputs) parts.push_back({input});
    const std::vector<size_t> counts(parts.size(), 1);
    combine_at_owners(exchange, parts, counts, output, reduction);
    exchange.wait_all();
    reduction.finish(output, exchange.size());
}

}  // namespace tutti::algorithm
