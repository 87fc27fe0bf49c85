// The names and sizes of the dtypes of types.h. Plain data.
#pragma once

#include <cstddef>
#include <iterator>

#include "tutti/types.h"

namespace tutti {

struct DtypeFacts {
    const char* name;
    size_t size;
};

inline constexpr DtypeFacts dtypes[] = {
    {"int8", 1},    {"uint8", 1},   {"int16", 2},     {"uint16", 2},      {"int32", 4},
    {"uint32", 4},  {"int64", 8},   {"uint64", 8},    {"float16", 2},     {"bfloat16", 2},
    {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}, {"bool", 1}};

// Bytes of one element; 0 for an unknown dtype.
inline size_t element_size(tutti_dtype dtype) {
    return dtype < std::size(dtypes) ? dtypes[dtype].size : 0;
}

// "float32"; "unknown" for one that types.h does not have.
inline const char* dtype_name(tutti_dtype dtype) {
    return dtype < std::size(dtypes) ? dtypes[dtype].name : "unknown";
}

}  // namespace tutti
