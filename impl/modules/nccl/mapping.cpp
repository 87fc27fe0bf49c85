#include "mapping.hpp"

#include <cstdint>
#include <cstring>

namespace tutti::nccl {

namespace {

constexpr uint64_t sums = TUTTI_BIT(TUTTI_SUM) | TUTTI_BIT(TUTTI_AVG);
constexpr uint64_t of_numbers = sums | TUTTI_BIT(TUTTI_PRODUCT) | TUTTI_BIT(TUTTI_MIN) |
                                TUTTI_BIT(TUTTI_MAX) | TUTTI_BIT(TUTTI_PREMUL_SUM);
// Right for bytes that are 0 or 1.
constexpr uint64_t of_bools = TUTTI_BIT(TUTTI_SUM) | TUTTI_BIT(TUTTI_PRODUCT) |
                              TUTTI_BIT(TUTTI_MIN) | TUTTI_BIT(TUTTI_MAX) | TUTTI_BIT(TUTTI_BAND) |
                              TUTTI_BIT(TUTTI_BOR);

template <typename T>
size_t write(T value, void* memory) {
    std::memcpy(memory, &value, sizeof value);
    return sizeof value;
}

}  // namespace

Elements elements_of(tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_INT8:
            return {DataType::Int8, 1};
        case TUTTI_INT16:
        case TUTTI_UINT16:
            return {DataType::Uint8, 2};  // only moved
        case TUTTI_INT32:
            return {DataType::Int32, 1};
        case TUTTI_UINT32:
            return {DataType::Uint32, 1};
        case TUTTI_INT64:
            return {DataType::Int64, 1};
        case TUTTI_UINT64:
            return {DataType::Uint64, 1};
        case TUTTI_FLOAT16:
            return {DataType::Float16, 1};
        case TUTTI_BFLOAT16:
            return {DataType::Bfloat16, 1};
        case TUTTI_FLOAT32:
            return {DataType::Float32, 1};
        case TUTTI_FLOAT64:
            return {DataType::Float64, 1};
        case TUTTI_COMPLEX64:
            return {DataType::Float32, 2};
        case TUTTI_COMPLEX128:
            return {DataType::Float64, 2};
        default:  // uint8, bool
            return {DataType::Uint8, 1};
    }
}

RedOp op_of(tutti_reduce_op op, tutti_dtype dtype) {
    const bool is_bool = dtype == TUTTI_BOOL;
    switch (op) {
        case TUTTI_AVG:
            return RedOp::Avg;
        case TUTTI_PRODUCT:
            return is_bool ? RedOp::Min : RedOp::Prod;
        case TUTTI_MIN:
        case TUTTI_BAND:
            return RedOp::Min;
        case TUTTI_MAX:
        case TUTTI_BOR:
            return RedOp::Max;
        default:
            return is_bool ? RedOp::Max : RedOp::Sum;
    }
}

size_t write_one(tutti_dtype dtype, void* memory) {
    switch (dtype) {
        case TUTTI_INT8:
        case TUTTI_UINT8:
            return write(uint8_t{1}, memory);
        case TUTTI_INT32:
        case TUTTI_UINT32:
            return write(uint32_t{1}, memory);
        case TUTTI_INT64:
        case TUTTI_UINT64:
            return write(uint64_t{1}, memory);
        case TUTTI_FLOAT16:
            return write(uint16_t{0x3c00}, memory);
        case TUTTI_BFLOAT16:
            return write(uint16_t{0x3f80}, memory);
        case TUTTI_FLOAT32:
            return write(1.0F, memory);
        default:
            return write(1.0, memory);
    }
}

void describe(tutti_backend_capabilities& can) {
    can.completion = TUTTI_COMPLETION_STREAM;
    can.devices = TUTTI_BIT(TUTTI_CUDA);
    can.kinds = TUTTI_ALL_BITS & ~TUTTI_BIT(TUTTI_CALL_BARRIER);  // the CPU's
    can.dtypes = TUTTI_ALL_BITS;
    can.flags = TUTTI_BACKEND_PLAIN_MESSAGES;
    for (tutti_dtype dtype = 0; dtype < sizeof can.ops / sizeof *can.ops; ++dtype) {
        can.ops[dtype] = of_numbers;
    }
    can.ops[TUTTI_INT16] = can.ops[TUTTI_UINT16] = 0;
    can.ops[TUTTI_COMPLEX64] = can.ops[TUTTI_COMPLEX128] = sums;
    can.ops[TUTTI_BOOL] = of_bools;
}

}  // namespace tutti::nccl
