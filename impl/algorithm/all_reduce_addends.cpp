// First every rank learns how many addends each has.
#include "call/all_reduce_addends.hpp"

#include "algorithm.hpp"

namespace tutti::algorithm {

void all_reduce_addends(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                        const Reduction& reduction) {
    const auto ranks = static_cast<size_t>(exchange.size());
    std::vector<uint64_t> all_counts(ranks);
    all_counts[static_cast<size_t>(exchange.rank())] = inputs.size();
    const Bytes row = std::as_writable_bytes(std::span(all_counts));
    bruck_all_gather(exchange, even_parts(row, sizeof(uint64_t), exchange.size()));
    std::vector<size_t> counts;
    for (int rank = 0; rank < exchange.size(); ++rank) {
        counts.push_back(checked_input_count(all_counts[static_cast<size_t>(rank)], rank));
    }
    ordered_all_reduce(exchange, inputs, counts, output, reduction);
    reduction.begin(output, output);  // even a single bool becomes 0 or 1
}

void all_reduce_addends_alone(std::span<const ConstBytes> inputs, Bytes output,
                              const Reduction& reduction) {
    if (inputs.empty()) {
        std::ranges::fill(output, std::byte{0});
        return;
    }
    std::vector<const void*> all;
    for (const ConstBytes input : inputs) all.push_back(input.data());
    reduction.combine_all(output, all, Stores::Ordinary);
    reduction.begin(output, output);
    reduction.finish(output, static_cast<int>(all.size()));
}

}  // namespace tutti::algorithm
