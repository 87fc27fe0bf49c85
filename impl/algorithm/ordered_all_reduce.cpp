// Short data everybody gets all of; of long data every rank combines a part, and the parts go
// around the ring.
#include <numeric>

#include "algorithm.hpp"
#include "ordered.hpp"

namespace tutti::algorithm {

void ordered_all_reduce(Exchange& exchange, Bytes data, const Reduction& reduction) {
    const std::vector<size_t> counts(static_cast<size_t>(exchange.size()), 1);
    const ConstBytes own = data;
    ordered_all_reduce(exchange, std::span(&own, 1), counts, data, reduction);
}

void ordered_all_reduce(Exchange& exchange, std::span<const ConstBytes> inputs,
                        std::span<const size_t> counts, Bytes output, const Reduction& reduction) {
    const size_t all = std::accumulate(counts.begin(), counts.end(), size_t{0});
    if (all == 0) {
        std::ranges::fill(output, std::byte{0});
        return;
    }
    if (output.size() <= short_addends / all) {
        combine_everywhere(exchange, inputs, counts, output, reduction);
        return reduction.finish(output, static_cast<int>(all));
    }
    const auto results = even_parts(output, reduction.element(), exchange.size());
    std::vector<Addends> parts(results.size());
    for (const ConstBytes input : inputs) {
        const auto cut = even_parts(input, reduction.element(), exchange.size());
        for (size_t rank = 0; rank < cut.size(); ++rank) parts[rank].push_back(cut[rank]);
    }
    const Bytes mine = results[static_cast<size_t>(exchange.rank())];
    combine_at_owners(exchange, parts, counts, mine, reduction);
    exchange.wait_all();  // the output may be an input
    reduction.finish(mine, static_cast<int>(all));
    ring_all_gather(exchange, results);
}

}  // namespace tutti::algorithm
