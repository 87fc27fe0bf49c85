// Reductions whose ranks take their shares of each piece from where the others' inputs are, and
// show what they make of them.
#pragma once

#include "algorithm/reduction.hpp"
#include "direct.hpp"

namespace tutti::shm {

// out = what the others have at that offset and what is `mine`, as long as `out`. The workplace has
// room for so much of every rank, if what they have cannot be seen.
void combine_fetched(const Direct& direct, const algorithm::Reduction& reduction, Bytes out,
                     ConstBytes mine, size_t offset, Bytes workplace, Stores stores);

// When the inputs are found. `output` is empty on ranks that want no result, and may be `input`.
void fetched(Direct& direct, ConstBytes input, Bytes output, const algorithm::Reduction& reduction);

}  // namespace tutti::shm
