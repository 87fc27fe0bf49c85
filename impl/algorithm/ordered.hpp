// Combining in the order of the ranks and all at once, so that neither steps nor their order show:
// what the ordered_ algorithms share. On the thread of the call; throws what Exchange throws.
#pragma once

#include "exchange.hpp"
#include "reduction.hpp"

namespace tutti::algorithm {

// What one rank contributes to some elements: one input, or several addends, or none.
using Addends = std::vector<ConstBytes>;

// inputs[rank]: what this rank contributes to that rank's part; numbers[rank]: how many addends
// that rank contributes, on all ranks the same list, not all 0. `output`: this rank's part of the
// result, not yet finished; it may be one of this rank's own addends. What goes to others may still
// be on its way after the return.
void combine_at_owners(Exchange& exchange, std::span<const Addends> inputs,
                       std::span<const size_t> numbers, Bytes output, const Reduction& reduction);

// The same where every rank receives all, which is so short that each may as well have all addends.
void combine_everywhere(Exchange& exchange, std::span<const ConstBytes> inputs,
                        std::span<const size_t> numbers, Bytes output, const Reduction& reduction);

// As many bytes of addends, of all ranks, are short.
constexpr size_t short_addends = 64 * 1024;

}  // namespace tutti::algorithm
