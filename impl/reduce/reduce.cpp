// The face of the folder: names, what goes with what, and the calls through the table that
// the processor gets. Any thread.
#include "reduce.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "dispatch.hpp"
#include "exact_sums.hpp"

namespace tutti {

namespace {

static_assert(std::size(dtypes) == dtype_count);

constexpr const char* op_names[] = {"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                    "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
static_assert(std::size(op_names) == TUTTI_PREMUL_SUM + 1);

const char* what_the_op_takes(tutti_reduce_op op) {
    if (op == TUTTI_AVG) return "floating point and complex";
    if (op == TUTTI_BAND || op == TUTTI_BOR || op == TUTTI_BXOR) return "integers and bool";
    return "integers, floating point and bool";
}

std::optional<std::string> why_not_scalable(tutti_dtype dtype, const Factor& factor) {
    if (factor.fits(dtype)) return std::nullopt;
    if (dtype == TUTTI_BOOL) {
        return "PREMUL_SUM is not defined for bool, only for integers, floating point and complex";
    }
    return cat("PREMUL_SUM with a factor of ", dtype_name(factor.dtype()), " is not defined for ",
               dtypes[dtype].name, ", which cannot hold the products");
}

std::string why_no_op(const ReduceOp& op) {
    if (op == TUTTI_PREMUL_SUM) {
        return cat("PREMUL_SUM (", op.number(),
                   ") needs its factor: tutti_reduce_op_create_premul_sum makes such an op");
    }
    return cat(op.is_released() ? "a reduce op that was released: " : "there is no reduce op ",
               op.number());
}

void call(const UserFunction& op, const void* in, void* inout, size_t count, tutti_dtype dtype) {
    Status status;
    try {
        status = op.function(in, inout, static_cast<int64_t>(count), dtype);
    } catch (...) {
        throw Error(TUTTI_ERR_BACKEND, cat("the reduce function \"", op.name, "\" has thrown"));
    }
    if (!status.ok()) {
        throw Error(TUTTI_ERR_BACKEND,
                    cat("the reduce function \"", op.name, "\" returned ", status.code,
                        status.message.empty() ? "" : ": ", status.message));
    }
}

// A user's function writes over its second operand, and `a` must stay the first: where the result
// goes to `a`, the second is copied, a piece at a time.
void reduce_by_user(const UserFunction& op, void* out, const void* a, const void* b, size_t count,
                    tutti_dtype dtype) {
    constexpr size_t piece_bytes = 64 * 1024;
    const size_t element = element_size(dtype);
    if (out != a) {
        if (out != b) std::memcpy(out, b, count * element);
        return call(op, a, out, count, dtype);
    }
    const size_t most = std::min(count, piece_bytes / element);
    const auto scratch = std::make_unique_for_overwrite<std::byte[]>(most * element);
    for (size_t begin = 0; begin < count; begin += most) {
        const size_t number = std::min(most, count - begin);
        const size_t offset = begin * element;
        std::byte* const place = static_cast<std::byte*>(out) + offset;
        std::memcpy(scratch.get(), static_cast<const std::byte*>(b) + offset, number * element);
        call(op, place, scratch.get(), number, dtype);
        std::memcpy(place, scratch.get(), number * element);
    }
}

// A piece at a time, the last step of which goes to `out`, which the other steps may still read.
void reduce_many_by_user(void* out, std::span<const void* const> inputs, size_t count,
                         tutti_dtype dtype, const ReduceOp& op) {
    constexpr size_t piece_bytes = 16 * 1024;
    const size_t element = element_size(dtype);
    const size_t most = std::min(count, piece_bytes / element);
    const auto scratch = std::make_unique_for_overwrite<std::byte[]>(2 * most * element);
    for (size_t begin = 0; begin < count; begin += most) {
        const size_t number = std::min(most, count - begin);
        const auto piece_of = [&](size_t input) {
            return static_cast<const std::byte*>(inputs[input]) + begin * element;
        };
        std::byte* const place = static_cast<std::byte*>(out) + begin * element;
        const std::byte* so_far = piece_of(0);
        for (size_t input = 1; input < inputs.size(); ++input) {
            std::byte* const spare = scratch.get() + (input % 2) * most * element;
            std::byte* const to = input + 1 == inputs.size() ? place : spare;
            reduce_to(to, so_far, piece_of(input), number, dtype, op);
            so_far = to;
        }
        if (so_far != place) std::memcpy(place, so_far, number * element);
    }
}

// The op between two parts: of PREMUL_SUM, whose parts are multiplied already, SUM.
tutti_reduce_op built_in(const ReduceOp& op) {
    const tutti_reduce_op number =
        op.factor() != nullptr ? tutti_reduce_op{TUTTI_SUM} : op.number();
    TUTTI_ASSERT(number < reduce_op_count);
    return number;
}

bool is_sum(const ReduceOp& op) {
    return op == TUTTI_SUM || op == TUTTI_AVG || op.factor() != nullptr;
}

bool is_exact_sum(tutti_dtype dtype, const ReduceOp& op) {
    return is_sum(op) && has_exact_sums(dtype);
}

// More than the kernels take: slowly, a piece at a time.
void sum_very_many(void* out, std::span<const void* const> inputs, size_t count,
                   tutti_dtype dtype) {
    constexpr size_t piece = 4096;
    for (size_t begin = 0; begin < count; begin += piece) {
        const size_t offset = begin * element_size(dtype);
        ExactSums sums(std::min(piece, count - begin), dtype);
        for (const void* const input : inputs) {
            sums.add(static_cast<const std::byte*>(input) + offset);
        }
        sums.round(static_cast<std::byte*>(out) + offset);
    }
}

}  // namespace

const char* reduce_op_name(tutti_reduce_op op) {
    return op < std::size(op_names) ? op_names[op] : "unknown";
}

std::optional<std::string> why_not_reducible(tutti_dtype dtype, const ReduceOp& op) {
    const Kernels& table = kernels();
    if (dtype >= dtype_count) return cat("there is no dtype ", dtype);
    if (op.user_function() != nullptr) return std::nullopt;
    if (const Factor* const factor = op.factor()) return why_not_scalable(dtype, *factor);
    const tutti_reduce_op number = op.number();
    if (number >= reduce_op_count) return why_no_op(op);
    if (table.reduce[dtype][number] != nullptr) return std::nullopt;
    return cat(op_names[number], " is not defined for ", dtypes[dtype].name, ", only for ",
               what_the_op_takes(number));
}

void begin_reduction(void* out, const void* in, size_t count, tutti_dtype dtype,
                     const ReduceOp& op) {
    const Kernels& table = kernels();
    if (const Factor* const factor = op.factor()) {
        const ScaleKernel kernel =
            factor->is_complex() ? table.scale_complex[dtype] : table.scale[dtype];
        kernel(out, in, count, factor->operand(dtype).data());
    } else if (dtype == TUTTI_BOOL) {
        table.reduce[dtype][TUTTI_BOR](out, in, in, count);
    } else if (out != in && count > 0) {
        std::memcpy(out, in, count * element_size(dtype));
    }
}

void reduce_into(void* into, const void* from, size_t count, tutti_dtype dtype,
                 const ReduceOp& op) {
    reduce_to(into, into, from, count, dtype, op);
}

void reduce_to(void* out, const void* a, const void* b, size_t count, tutti_dtype dtype,
               const ReduceOp& op) {
    TUTTI_ASSERT(dtype < dtype_count);
    if (const UserFunction* const user = op.user_function()) {
        if (count > 0) reduce_by_user(*user, out, a, b, count, dtype);
        return;
    }
    const ReduceKernel kernel = kernels().reduce[dtype][built_in(op)];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(out, a, b, count);
}

void reduce_many(void* out, std::span<const void* const> inputs, size_t count, tutti_dtype dtype,
                 const ReduceOp& op, Stores stores) {
    TUTTI_ASSERT(dtype < dtype_count && !inputs.empty());
    if (op.is_reproducible() && is_exact_sum(dtype, op)) {
        if (inputs.size() > max_exact_inputs) return sum_very_many(out, inputs, count, dtype);
        return sum_exactly(out, inputs, count, dtype, stores);
    }
    if (op.user_function() != nullptr) {
        if (count > 0) reduce_many_by_user(out, inputs, count, dtype, op);
        return;
    }
    const ManyKernel kernel = kernels().reduce_many[dtype][built_in(op)];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(out, inputs.data(), inputs.size(), count, stores == Stores::Streaming);
}

bool must_combine_at_once(tutti_dtype dtype, const ReduceOp& op, size_t contributions) {
    if (accumulates_in_float32(dtype, op)) return contributions > 2;
    if (!op.is_reproducible()) return false;
    if (op.user_function() != nullptr) return contributions > 1;
    const bool depends_on_order = is_exact_sum(dtype, op) || op == TUTTI_PRODUCT;
    return depends_on_order && has_exact_sums(dtype) && contributions > 2;
}

bool accumulates_in_float32(tutti_dtype dtype, const ReduceOp& op) {
    const bool is_short = dtype == TUTTI_FLOAT16 || dtype == TUTTI_BFLOAT16;
    return is_short && !op.is_reproducible() && is_sum(op);
}

void sum_to_float32(float* out, std::span<const void* const> inputs, size_t count,
                    tutti_dtype dtype) {
    TUTTI_ASSERT(dtype < dtype_count && !inputs.empty());
    const ToFloat32Kernel kernel = kernels().sum_to_float32[dtype];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(out, inputs.data(), inputs.size(), count);
}

void round_float32(void* out, const float* sums, size_t count, tutti_dtype dtype,
                   const ReduceOp& op, int ranks) {
    TUTTI_ASSERT(dtype < dtype_count && ranks > 0);
    const FromFloat32Kernel kernel = kernels().round_float32[dtype];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(out, sums, count, op == TUTTI_AVG ? static_cast<float>(ranks) : 1.0F);
}

bool has_exact_sums(tutti_dtype dtype) {
    return dtype < dtype_count && kernels().sum_exactly[dtype] != nullptr;
}

void sum_exactly(void* out, std::span<const void* const> inputs, size_t count, tutti_dtype dtype,
                 Stores stores) {
    TUTTI_ASSERT(has_exact_sums(dtype));
    TUTTI_ASSERT(!inputs.empty() && inputs.size() <= max_exact_inputs);
    // The plain sum of two is rounded correctly.
    const ManyKernel kernel =
        inputs.size() == 2 ? kernels().reduce_many[dtype][TUTTI_SUM] : kernels().sum_exactly[dtype];
    kernel(out, inputs.data(), inputs.size(), count, stores == Stores::Streaming);
}

bool needs_end(tutti_dtype dtype, const ReduceOp& op) {
    return op == TUTTI_AVG && !accumulates_in_float32(dtype, op);
}

void end_reduction(void* data, size_t count, tutti_dtype dtype, const ReduceOp& op, int ranks) {
    if (needs_end(dtype, op)) divide_by(data, count, dtype, ranks);
}

void divide_by(void* data, size_t count, tutti_dtype dtype, int ranks) {
    TUTTI_ASSERT(dtype < dtype_count && ranks > 0);
    const DivideKernel kernel = kernels().divide[dtype];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(data, count, ranks);
}

}  // namespace tutti
