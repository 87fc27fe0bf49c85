// Reductions in which each rank takes its share of each piece from the others' inputs in place, and
// publishes the result.
#pragma once

#include "algorithm/reduction.hpp"
#include "direct.hpp"

namespace tutti::shm {

// Combines the others' data at that offset with `mine` into `out`, which is as long. The workplace
// has out.size() bytes for each rank, if their data are not visible.
void reduce_remote(const DirectRead& direct, const algorithm::Reduction& reduction, Bytes out,
                   ConstBytes mine, size_t offset, Bytes workplace, Stores stores);

// After the inputs are found. `output` is empty on ranks that want no result, and may be `input`.
void fetched(DirectRead& direct, ConstBytes input, Bytes output,
             const algorithm::Reduction& reduction);

}  // namespace tutti::shm
