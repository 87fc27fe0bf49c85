// First every rank learns how many addends each has.
#include "call/all_reduce_addends.hpp"

#include "algorithm.hpp"

namespace tutti::algorithm {

void all_reduce_addends(Exchange& exchange, std::span<const ConstBytes> inputs, Bytes output,
                        const Reduction& reduction) {
    const auto ranks = static_cast<size_t>(exchange.size());
    std::vector<uint64_t> told(ranks);
    told[static_cast<size_t>(exchange.rank())] = inputs.size();
    const Bytes row = std::as_writable_bytes(std::span(told));
    bruck_all_gather(exchange, even_parts(row, sizeof(uint64_t), exchange.size()));
    std::vector<size_t> numbers;
    for (int rank = 0; rank < exchange.size(); ++rank) {
        numbers.push_back(checked_number_of_inputs(told[static_cast<size_t>(rank)], rank));
    }
    ordered_all_reduce(exchange, inputs, numbers, output, reduction);
    reduction.begin(output, output);  // a bool that was the only one is 0 or 1, too
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
