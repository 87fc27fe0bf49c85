// Any thread.
#include "factor.hpp"

#include <bit>
#include <cstring>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace tutti {

namespace {

// As ranks of what can hold what.
enum class Class { Integer, Real, Complex };

Class class_of(tutti_dtype dtype) {
    if (dtype <= TUTTI_UINT64) return Class::Integer;
    return dtype <= TUTTI_FLOAT64 ? Class::Real : Class::Complex;
}

template <typename T>
T load(const void* data, size_t index = 0) {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof value, sizeof value);
    return value;
}

// Moved to float32's place the exponent is 112 too small, also for a subnormal.
double float16_value(uint16_t half) {
    const bool is_finite = (half & 0x7c00U) != 0x7c00U;
    const uint32_t magnitude = (half & 0x7fffU) << 13;
    const float value = is_finite ? std::bit_cast<float>(magnitude) * 0x1p112F
                                  : std::bit_cast<float>(magnitude | 0x7f800000U);
    return (half & 0x8000U) != 0 ? -value : value;
}

double bfloat16_value(uint16_t half) {
    return std::bit_cast<float>(uint32_t{half} << 16);
}

// The upper bits of what is wider than the number do not matter: products wrap.
template <typename T>
Factor::Operand operand_of(T value, T second = 0) {
    Factor::Operand operand{};
    std::memcpy(operand.data(), &value, sizeof value);
    std::memcpy(operand.data() + sizeof value, &second, sizeof second);
    return operand;
}

}  // namespace

Factor::Factor(const void* data, tutti_dtype dtype) : dtype_(dtype) {
    read(data, dtype);
}

void Factor::read(const void* data, tutti_dtype dtype) {
    const auto whole = [this](auto value) {
        integer_ = static_cast<uint64_t>(value);
        real_ = static_cast<double>(value);
    };
    switch (dtype) {
        case TUTTI_INT8:
            return whole(load<int8_t>(data));
        case TUTTI_UINT8:
            return whole(load<uint8_t>(data));
        case TUTTI_INT16:
            return whole(load<int16_t>(data));
        case TUTTI_UINT16:
            return whole(load<uint16_t>(data));
        case TUTTI_INT32:
            return whole(load<int32_t>(data));
        case TUTTI_UINT32:
            return whole(load<uint32_t>(data));
        case TUTTI_INT64:
            return whole(load<int64_t>(data));
        case TUTTI_UINT64:
            return whole(load<uint64_t>(data));
        case TUTTI_FLOAT16:
            real_ = float16_value(load<uint16_t>(data));
            return;
        case TUTTI_BFLOAT16:
            real_ = bfloat16_value(load<uint16_t>(data));
            return;
        case TUTTI_FLOAT32:
            real_ = load<float>(data);
            return;
        case TUTTI_FLOAT64:
            real_ = load<double>(data);
            return;
        case TUTTI_COMPLEX64:
            real_ = load<float>(data);
            imaginary_ = load<float>(data, 1);
            return;
        case TUTTI_COMPLEX128:
            real_ = load<double>(data);
            imaginary_ = load<double>(data, 1);
            return;
        default:
            throw Error(TUTTI_ERR_INVALID_ARGUMENT, "factor is a bool; it must be a number");
    }
}

bool Factor::is_complex() const {
    return class_of(dtype_) == Class::Complex;
}

bool Factor::fits(tutti_dtype dtype) const {
    return dtype != TUTTI_BOOL && class_of(dtype_) <= class_of(dtype);
}

Factor::Operand Factor::operand(tutti_dtype dtype) const {
    TUTTI_ASSERT(fits(dtype));
    switch (dtype) {
        case TUTTI_INT8:
        case TUTTI_UINT8:
            return operand_of(static_cast<uint8_t>(integer_));
        case TUTTI_INT16:
        case TUTTI_UINT16:
            return operand_of(static_cast<uint16_t>(integer_));
        case TUTTI_INT32:
        case TUTTI_UINT32:
            return operand_of(static_cast<uint32_t>(integer_));
        case TUTTI_INT64:
        case TUTTI_UINT64:
            return operand_of(integer_);
        case TUTTI_FLOAT64:
        case TUTTI_COMPLEX128:
            return operand_of(real_, imaginary_);
        default:
            return operand_of(static_cast<float>(real_), static_cast<float>(imaginary_));
    }
}

}  // namespace tutti
