// One table of kernels per instruction set, and the choice among them. Each table is compiled from
// the same text (sweep.hpp, operations.hpp, formats.hpp) with its own compiler flags. Any thread.
// Only plain types here: the kernels' files include it, and must not emit inline functions that the
// linker could merge into code for older processors.
#pragma once

#include <stddef.h>

#include "tutti/types.h"

namespace tutti {

enum { dtype_count = TUTTI_BOOL + 1, reduce_op_count = TUTTI_BXOR + 1 };

// out[i] = op(a[i], b[i]); out may be a or b.
using ReduceKernel = void (*)(void* out, const void* a, const void* b, size_t count);
// out[i] = the op over all of the inputs' i-th elements, in their order, or their correctly rounded
// sum; out may be one of the inputs. Streaming: out is written past the caches, and ordered.
using ManyKernel = void (*)(void* out, const void* const* inputs, size_t number, size_t count,
                            bool streaming);
// out[i] = the sum of all of the inputs' i-th elements as float32; out is none of the inputs.
using ToFloat32Kernel = void (*)(void* out, const void* const* inputs, size_t number, size_t count);
// out[i] = the float32 sums[i] / divisor, rounded to the dtype; out is not sums.
using FromFloat32Kernel = void (*)(void* out, const void* sums, size_t count, float divisor);
using DivideKernel = void (*)(void* data, size_t count, int ranks);
// out[i] = in[i] * factor; out may be in. The factor is an integer of the dtype's size, a float for
// float16, bfloat16, float32 and complex64, a double for float64 and complex128; scale_complex
// takes two of them, real and imaginary.
using ScaleKernel = void (*)(void* out, const void* in, size_t count, const void* factor);

// A null entry: the op makes no sense for the dtype.
struct Kernels {
    ReduceKernel reduce[dtype_count][reduce_op_count];
    ManyKernel reduce_many[dtype_count][reduce_op_count];
    ManyKernel sum_exactly[dtype_count];
    ToFloat32Kernel sum_to_float32[dtype_count];  // of float16 and bfloat16, and the next
    FromFloat32Kernel round_float32[dtype_count];
    DivideKernel divide[dtype_count];
    ScaleKernel scale[dtype_count];
    ScaleKernel scale_complex[dtype_count];
};

// The bits of the correctly rounded sum of numbers that stand `offset` bytes from the inputs'
// beginnings: what sum_exactly calls where its own arithmetic does not suffice. Format: BFLOAT16,
// FLOAT32 or FLOAT64.
uint64_t sum_numbers_exactly(tutti_dtype format, const void* const* inputs, size_t number,
                             size_t offset);

extern const Kernels kernels_baseline;
#if defined(__x86_64__)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

}  // namespace tutti
