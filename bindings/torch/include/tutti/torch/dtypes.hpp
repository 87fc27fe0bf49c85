/* tutti/torch/dtypes.hpp: which dtype of tutti's is which of libtorch's. A part of
 * tutti/torch/ddp.hpp. */
#ifndef TUTTI_TORCH_DTYPES_HPP
#define TUTTI_TORCH_DTYPES_HPP

#include <c10/core/ScalarType.h>
#include <torch/version.h>
#include <tutti/types.h>

#include <iterator>
#include <optional>

namespace tutti::torch::detail {

using ScalarType = c10::ScalarType;

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
inline constexpr auto uint16 = ScalarType::UInt16;
inline constexpr auto uint32 = ScalarType::UInt32;
inline constexpr auto uint64 = ScalarType::UInt64;
#else
inline constexpr auto uint16 = ScalarType::Undefined;
inline constexpr auto uint32 = ScalarType::Undefined;
inline constexpr auto uint64 = ScalarType::Undefined;
#endif

/** What libtorch calls each dtype of tutti, by tutti's number; Undefined if this version of
 *  libtorch does not have it. */
inline constexpr ScalarType scalar_types[] = {ScalarType::Char,         ScalarType::Byte,
                                              ScalarType::Short,        uint16,
                                              ScalarType::Int,          uint32,
                                              ScalarType::Long,         uint64,
                                              ScalarType::Half,         ScalarType::BFloat16,
                                              ScalarType::Float,        ScalarType::Double,
                                              ScalarType::ComplexFloat, ScalarType::ComplexDouble,
                                              ScalarType::Bool};
static_assert(std::size(scalar_types) == TUTTI_BOOL + 1, "each dtype of tutti's has its place");

inline std::optional<tutti_dtype> dtype_of(ScalarType type) {
    if (type == ScalarType::Undefined) return std::nullopt;
    for (tutti_dtype dtype = 0; dtype < std::size(scalar_types); ++dtype) {
        if (scalar_types[dtype] == type) return dtype;
    }
    return std::nullopt;
}

}  // namespace tutti::torch::detail

#endif
