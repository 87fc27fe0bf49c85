// Combining in rank order and all at once, so that the result depends on neither steps nor their
// order: shared by the ordered_ algorithms. On the thread of the call; throws what Exchange throws.
#pragma once

#include "exchange.hpp"
#include "reduction.hpp"

namespace tutti::algorithm {

// The contribution of one rank to some elements: one input, or several addends, or none.
using Addends = std::vector<ConstBytes>;

// inputs[rank]: this rank's contribution to that rank's part; counts[rank]: that rank's number of
// addends, the same list on all ranks, not all 0. `output`: this rank's part of the result, not yet
// finished; it may be one of its own addends. Sends may still be in flight after the return.
void combine_at_owners(Exchange& exchange, std::span<const Addends> inputs,
                       std::span<const size_t> counts, Bytes output, const Reduction& reduction);

// The same where every rank receives all addends, for short data.
void combine_everywhere(Exchange& exchange, std::span<const ConstBytes> inputs,
                        std::span<const size_t> counts, Bytes output, const Reduction& reduction);

// Addends of all ranks up to here are short.
constexpr size_t short_addends = 64 * 1024;
// Inputs of all ranks up to here go straight to the root of a sum of short floats.
constexpr size_t short_inputs_of_sums = 2 * 1024 * 1024;

}  // namespace tutti::algorithm
