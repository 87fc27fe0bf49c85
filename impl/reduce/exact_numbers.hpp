// One number of a floating-point format as a double, and back; the slow but sure sum of a few.
// Any thread; reads the memory it is given.
#pragma once

#include <cstdint>

#include "kernels.hpp"
#include "superaccumulator.hpp"

namespace tutti {

// FLOAT16, BFLOAT16, FLOAT32 or FLOAT64, and how many such numbers make an element; no parts if the
// dtype is of integers.
struct Numbers {
    tutti_dtype format;
    int parts;
};
Numbers numbers_of(tutti_dtype dtype);

// Without loss; any alignment.
double number_at(tutti_dtype format, const void* place);

// The bits of a sum in the format, rounded to nearest even; every NaN is the one of formats.hpp.
// The sum is exact, or rounded to odd unless the format is FLOAT64.
uint64_t bits_of(tutti_dtype format, double sum);

// The bits of a finite sum, rounded to nearest even; +0 if it is zero.
uint64_t bits_of(tutti_dtype format, const Superaccumulator& sum);

}  // namespace tutti
