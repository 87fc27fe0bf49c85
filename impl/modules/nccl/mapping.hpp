// How NCCL names what tutti has, and what it lacks. Constant.
#pragma once

#include <cstddef>

#include "abi.hpp"
#include "tutti/ext.h"

namespace tutti::nccl {

// An element of a dtype as `count` of NCCL's.
struct Elements {
    DataType type;
    size_t count;
};
Elements elements_of(tutti_dtype dtype);

// Takes any op but PREMUL_SUM.
RedOp op_of(tutti_reduce_op op, tutti_dtype dtype);

// Writes the number 1 of a dtype that has PREMUL_SUM; returns its bytes.
size_t write_one(tutti_dtype dtype, void* memory);

void describe(tutti_backend_capabilities& can);

}  // namespace tutti::nccl
