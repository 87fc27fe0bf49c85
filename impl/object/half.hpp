// The two 16-bit floating-point formats as numbers of C++, one at a time: what reduce/ does in
// vectors is for whole buffers. Any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tutti {

struct Float16Bits {
    uint16_t bits;
};
struct BFloat16Bits {
    uint16_t bits;
};

inline double widen(double number) {
    return number;
}
inline double widen(float number) {
    return number;
}
inline double widen(BFloat16Bits number) {
    return std::bit_cast<float>(uint32_t{number.bits} << 16);
}
inline double widen(Float16Bits number) {
    const int exponent = number.bits >> 10 & 0x1f;
    const int fraction = number.bits & 0x3ff;
    const double sign = (number.bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 0x1f) return fraction != 0 ? sign * NAN : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(fraction + 0x400, exponent - 25);
}

// The nearest number of a format with `digits` bits of fraction whose smallest normal number is
// 2^lowest; ties go to the even one.
inline double rounded(double number, int digits, int lowest) {
    int exponent = 0;
    std::frexp(number, &exponent);  // number is below 2^exponent
    const int last = std::max(exponent - 1, lowest) - digits;
    return std::ldexp(std::nearbyint(std::ldexp(number, -last)), last);
}

template <typename Number>
Number narrow(double number) {
    return static_cast<Number>(number);
}
template <>
inline BFloat16Bits narrow(double number) {
    if (std::isnan(number)) return {0x7fc0};
    const double near = std::isinf(number) ? number : rounded(number, 7, -126);
    return {static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(near)) >> 16)};
}
template <>
inline Float16Bits narrow(double number) {
    if (std::isnan(number)) return {0x7e00};
    const auto sign = static_cast<uint16_t>(std::signbit(number) ? 0x8000 : 0);
    const double near = std::isinf(number) ? number : std::fabs(rounded(number, 10, -14));
    if (std::fabs(near) >= 65536.0) return {static_cast<uint16_t>(sign | 0x7c00)};
    if (near < 0x1p-14) return {static_cast<uint16_t>(sign | static_cast<int>(near * 0x1p24))};
    int exponent = 0;
    const double fraction = std::frexp(near, &exponent);  // from 0.5 to below 1
    const auto digits = static_cast<int>(std::ldexp(fraction, 11)) - 0x400;
    return {static_cast<uint16_t>(sign | (exponent + 14) << 10 | digits)};
}

}  // namespace tutti
