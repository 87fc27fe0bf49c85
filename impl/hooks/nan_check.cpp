#include "nan_check.hpp"

#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "reduce/dtypes.hpp"

namespace tutti::hooks {

namespace {

// All ones in the exponent, and something in the fraction.
template <typename Bits>
bool is_nan(Bits bits, Bits exponent) {
    const Bits magnitude = bits & (static_cast<Bits>(~Bits{0}) >> 1);
    return magnitude > exponent;
}

template <typename Bits>
std::optional<size_t> first(std::span<const std::byte> bytes, Bits exponent) {
    for (size_t i = 0; i < bytes.size() / sizeof(Bits); ++i) {
        Bits bits = 0;
        std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
        if (is_nan(bits, exponent)) return i;
    }
    return std::nullopt;
}

constexpr uint16_t float16_exponent = 0x7c00;
constexpr uint16_t bfloat16_exponent = 0x7f80;
constexpr uint32_t float32_exponent = 0x7f800000;
constexpr uint64_t float64_exponent = 0x7ff0000000000000;

std::optional<size_t> half_of(std::optional<size_t> part) {
    if (part) *part /= 2;
    return part;
}

}  // namespace

std::optional<size_t> first_nan(std::span<const std::byte> bytes, tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_FLOAT16:
            return first<uint16_t>(bytes, float16_exponent);
        case TUTTI_BFLOAT16:
            return first<uint16_t>(bytes, bfloat16_exponent);
        case TUTTI_FLOAT32:
            return first<uint32_t>(bytes, float32_exponent);
        case TUTTI_FLOAT64:
            return first<uint64_t>(bytes, float64_exponent);
        case TUTTI_COMPLEX64:
            return half_of(first<uint32_t>(bytes, float32_exponent));
        case TUTTI_COMPLEX128:
            return half_of(first<uint64_t>(bytes, float64_exponent));
        default:
            return std::nullopt;
    }
}

void NanCheck::before(const record::Operation& operation) {
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
        const record::Buffer& input = operation.inputs[i];
        if (input.device_type != TUTTI_CPU || input.data == nullptr) continue;
        const std::span bytes(static_cast<const std::byte*>(input.data), input.bytes);
        const auto where = first_nan(bytes, input.dtype);
        if (!where) continue;
        const std::string which = operation.inputs.size() == 1 ? "the input" : cat("input ", i);
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(which, " of rank ", operation.rank, " is NaN at element ", *where, " (",
                        dtype_name(input.dtype), "), and the NaN check is on"),
                    operation.rank);
    }
}

}  // namespace tutti::hooks
