// Reductions, in the order of the ranks, rounded once.
#pragma once

#include <nccl.h>

#include "segment.hpp"

namespace fake_nccl {

size_t width_of(int type);
// A factor of that type, as lanes have it.
void read_factor(int type, const void* scalar, double& factor, uint64_t& whole_factor);
// The elements of each lane at `offset`, times its factor if there are factors.
void reduce(const Shape& shape, const Lane* lanes, int ranks, bool has_factors, size_t offset,
            void* out, size_t count);

}  // namespace fake_nccl
