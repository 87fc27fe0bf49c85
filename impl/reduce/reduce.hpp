// Reduces two pieces of memory: dtype x op, with the best kernels this processor has. The same bits
// come out on every processor, whatever the alignment and the count, and op(a, b) is op(b, a) to
// the last bit (README.md says how), provided that the calling threads have the same floating-point
// environment (rounding, flushing of subnormals). Any thread; touches the memory it is given and
// nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "dtypes.hpp"
#include "reduce_op.hpp"
#include "tutti/types.h"

namespace tutti {

// "SUM"; "unknown" for one that types.h does not have.
const char* reduce_op_name(tutti_reduce_op op);

// Nothing if the op makes sense for the dtype, else why not: "AVG is not defined for int32, only
// for floating point and complex". The code that accepts a reduction asks this first; the calls
// below assert it. A malformed TUTTI_CPU is an Error (INVALID_ARGUMENT) here, so never amid a
// collective.
std::optional<std::string> why_not_reducible(tutti_dtype dtype, const ReduceOp& op);

// A reduction is three steps: what each rank brings, the op between two parts as often as needed,
// and what is done once to each element of the result.

// out[i] = what a rank brings: its input, for PREMUL_SUM times the rank's factor; of a bool 0 or 1.
// `out` may be exactly `in`; no other overlap.
void begin_reduction(void* out, const void* in, size_t count, tutti_dtype dtype,
                     const ReduceOp& op);

// into[i] = op(into[i], from[i]). No overlap; any alignment. AVG accumulates like SUM. Every call
// rounds its result: must_combine_at_once() says where that is not wanted. This and the next throw
// BACKEND when a user's function fails, and nothing otherwise.
void reduce_into(void* into, const void* from, size_t count, tutti_dtype dtype, const ReduceOp& op);

// out[i] = op(a[i], b[i]). `out` may be exactly `a` or exactly `b`; no other overlap.
void reduce_to(void* out, const void* a, const void* b, size_t count, tutti_dtype dtype,
               const ReduceOp& op);

// Streaming: past the caches, for a result that does not fit into them; other threads see it after
// the call like any other. It takes effect where the elements of `out` are aligned to their size,
// and costs much where the next reader would have found the result in a cache.
enum class Stores { Ordinary, Streaming };

// out[i] = ((inputs[0][i] op inputs[1][i]) op inputs[2][i]) ..., what reduce_to() gives step by
// step, in one pass over memory, but for sums: those of float16 and bfloat16 are accumulated in
// float32, of AVG divided there by the number of inputs, and rounded once; those of a reproducible
// op are sum_exactly()'s, of however many inputs. `out` may be exactly one of the inputs, of which
// there is at least one; no other overlap. Throws as reduce_to() does.
void reduce_many(void* out, std::span<const void* const> inputs, size_t count, tutti_dtype dtype,
                 const ReduceOp& op, Stores stores = Stores::Ordinary);

// Whether an op over so many contributions needs all of them in one reduce_many(), in the order of
// the ranks: of reproducible ops steps would give other bits, and of short floats' sums
// (accumulates_in_float32()) they would round more than once. Two numbers are added and multiplied
// as well by the other calls.
bool must_combine_at_once(tutti_dtype dtype, const ReduceOp& op, size_t contributions);

// Sums whose bits do not depend on order and grouping: the exact sum of all inputs, rounded once to
// nearest even. Infinities, NaN and the sign of zero are as in plain sums; nothing overflows on the
// way. Else like reduce_many() with SUM. AVG in this mode is this and then divide_by(): rounded
// twice. exact_sums.hpp has the same for inputs that are at several places.
constexpr size_t max_exact_inputs = 8192;
void sum_exactly(void* out, std::span<const void* const> inputs, size_t count, tutti_dtype dtype,
                 Stores stores = Stores::Ordinary);

// The dtypes that sum_exactly() takes: of floating point, and complex. Sums of others are exact.
bool has_exact_sums(tutti_dtype dtype);

// Whether it is a plain SUM, AVG or PREMUL_SUM of float16 or bfloat16. Its sums can also be made in
// parts: of inputs, by sum_to_float32(); of those parts, as float32; at last, by round_float32(),
// which takes the place of end_reduction().
bool accumulates_in_float32(tutti_dtype dtype, const ReduceOp& op);

// out[i] = inputs[0][i] + inputs[1][i] ..., as float32, for a dtype of 16 bits. `out` is none of
// the inputs.
void sum_to_float32(float* out, std::span<const void* const> inputs, size_t count,
                    tutti_dtype dtype);
// out[i] = sums[i], of AVG divided by the number of ranks, rounded to the dtype. No overlap.
void round_float32(void* out, const float* sums, size_t count, tutti_dtype dtype,
                   const ReduceOp& op, int ranks);

// Whether end_reduction() changes anything.
bool needs_end(tutti_dtype dtype, const ReduceOp& op);
// AVG divides in place by the number of ranks, unless reduce_many() has done so; other ops leave
// the data as they are.
void end_reduction(void* data, size_t count, tutti_dtype dtype, const ReduceOp& op, int ranks);

// AVG's division by itself.
void divide_by(void* data, size_t count, tutti_dtype dtype, int ranks);

}  // namespace tutti
