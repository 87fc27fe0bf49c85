// The face of the folder: names, sizes, what goes with what, and the calls through the table that
// the processor gets. Any thread.
#include "reduce.hpp"

#include "base/assert.hpp"
#include "base/text.hpp"
#include "dispatch.hpp"

namespace tutti {

namespace {

struct DtypeFacts {
    const char* name;
    size_t size;
};

constexpr DtypeFacts dtypes[] = {
    {"int8", 1},    {"uint8", 1},   {"int16", 2},     {"uint16", 2},      {"int32", 4},
    {"uint32", 4},  {"int64", 8},   {"uint64", 8},    {"float16", 2},     {"bfloat16", 2},
    {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}, {"bool", 1}};
static_assert(std::size(dtypes) == dtype_count);

constexpr const char* op_names[] = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"};
static_assert(std::size(op_names) == reduce_op_count);

const char* what_the_op_takes(tutti_reduce_op op) {
    if (op == TUTTI_AVG) return "floating point and complex";
    if (op == TUTTI_BAND || op == TUTTI_BOR || op == TUTTI_BXOR) return "integers and bool";
    return "integers, floating point and bool";
}

}  // namespace

size_t element_size(tutti_dtype dtype) {
    return dtype < dtype_count ? dtypes[dtype].size : 0;
}

const char* dtype_name(tutti_dtype dtype) {
    return dtype < dtype_count ? dtypes[dtype].name : "unknown";
}

const char* reduce_op_name(tutti_reduce_op op) {
    return op < reduce_op_count ? op_names[op] : "unknown";
}

std::optional<std::string> why_not_reducible(tutti_dtype dtype, tutti_reduce_op op) {
    const Kernels& table = kernels();
    if (dtype >= dtype_count) return cat("there is no dtype ", dtype);
    if (op >= reduce_op_count) return cat("there is no reduce op ", op);
    if (table.reduce[dtype][op] != nullptr) return std::nullopt;
    return cat(op_names[op], " is not defined for ", dtypes[dtype].name, ", only for ",
               what_the_op_takes(op));
}

void reduce_into(void* into, const void* from, size_t count, tutti_dtype dtype,
                 tutti_reduce_op op) {
    reduce_to(into, into, from, count, dtype, op);
}

void reduce_to(void* out, const void* a, const void* b, size_t count, tutti_dtype dtype,
               tutti_reduce_op op) {
    TUTTI_ASSERT(dtype < dtype_count && op < reduce_op_count);
    const ReduceKernel kernel = kernels().reduce[dtype][op];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(out, a, b, count);
}

void divide_by(void* data, size_t count, tutti_dtype dtype, int ranks) {
    TUTTI_ASSERT(dtype < dtype_count && ranks > 0);
    const DivideKernel kernel = kernels().divide[dtype];
    TUTTI_ASSERT(kernel != nullptr);
    kernel(data, count, ranks);
}

}  // namespace tutti
