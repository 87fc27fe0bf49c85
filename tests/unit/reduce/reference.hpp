// The expected results of the kernels, worked out element by element in another way: integers in
// 128 bits, floating point decoded to 113-bit numbers and rounded back by hand. An element travels
// as its bits; a complex number as two elements. Any thread.
#pragma once

#include <cfloat>
#include <cstdint>
#include <utility>

#include "tutti/types.h"

namespace tutti::test {

#if LDBL_MANT_DIG >= 113
using Exact = long double;
#else
using Exact = __float128;
#endif

// One sign bit, then these.
struct Format {
    int exponent_bits;
    int mantissa_bits;
};

struct Element {
    enum Kind { Signed, Unsigned, Bool, Floating } kind;
    int bits;
    Format format;  // of Floating
};

// The parts of a complex number.
Element element_of(tutti_dtype dtype);
int parts_of(tutti_dtype dtype);

bool expected_to_be_reducible(tutti_dtype dtype, tutti_reduce_op op);

Exact decode(uint64_t bits, Format format);
// To nearest, ties to even; every NaN is the positive quiet one.
uint64_t encode(Exact value, Format format);

uint64_t reference(tutti_dtype dtype, tutti_reduce_op op, uint64_t a, uint64_t b);
// Times a factor, which is in the format of the calculation: an integer of the dtype's size,
// float32 for 16-bit formats, else the element's own.
Format calculation_format(tutti_dtype dtype);
uint64_t reference_scaled(tutti_dtype dtype, uint64_t a, uint64_t factor);
std::pair<uint64_t, uint64_t> reference_complex_product(tutti_dtype dtype,
                                                        std::pair<uint64_t, uint64_t> a,
                                                        std::pair<uint64_t, uint64_t> factor);
uint64_t reference_division(tutti_dtype dtype, uint64_t a, int ranks);

}  // namespace tutti::test
