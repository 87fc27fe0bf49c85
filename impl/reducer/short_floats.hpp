// float32 and float64 as float16 or bfloat16 and back, rounded to nearest even. Any thread; touches
// the memory it is given.
#pragma once

#include "call/view.hpp"

namespace tutti {

// Whether numbers of the dtype are, or consist of, floats that are longer than 16 bits.
bool is_shortened(tutti_dtype dtype);
// How many: a complex number has two.
int64_t floats_of(const View& numbers);

// `into` has as many floats of 16 bits as `numbers` has; neither overlaps the other.
void shorten(const View& into, const View& numbers);
void lengthen(const View& into, const View& numbers);

}  // namespace tutti
