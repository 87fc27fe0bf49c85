// The slow way; see reference.hpp. Any thread.
#include "reference.hpp"

#include <vector>

#include "base/assert.hpp"

namespace tutti::test {

namespace {

using Signed128 = __int128;
using Unsigned128 = unsigned __int128;

constexpr Format float32{8, 23};

constexpr int largest_power = 2400;  // float64's smallest number, squared, is 2^-2148

Exact power_of_two(int exponent) {
    static const std::vector<Exact> table = [] {
        std::vector<Exact> powers(2 * largest_power + 1);
        powers[largest_power] = 1;
        for (int i = 1; i <= largest_power; ++i) {
            powers[largest_power + i] = powers[largest_power + i - 1] * 2;
            powers[largest_power - i] = powers[largest_power - i + 1] / 2;
        }
        return powers;
    }();
    TUTTI_ASSERT(exponent >= -largest_power && exponent <= largest_power);
    return table[static_cast<size_t>(largest_power + exponent)];
}

bool is_negative(Exact value) {
    return value < 0 || (value == 0 && 1 / value < 0);
}

int exponent_of(Exact magnitude) {
    int low = -largest_power;
    int high = largest_power;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        (power_of_two(middle) <= magnitude ? low : high) = middle;
    }
    return low;
}

Signed128 widened(uint64_t bits, Element element) {
    if (element.kind != Element::Signed) return static_cast<Signed128>(bits);
    const auto half = Signed128{1} << (element.bits - 1);
    const auto value = static_cast<Signed128>(bits);
    return value < half ? value : value - 2 * half;
}

uint64_t integer_reference(Element element, tutti_reduce_op op, uint64_t a, uint64_t b) {
    const Signed128 x = widened(a, element);
    const Signed128 y = widened(b, element);
    const auto ux = static_cast<Unsigned128>(x);
    const auto uy = static_cast<Unsigned128>(y);
    Unsigned128 result = 0;
    switch (op) {
        case TUTTI_SUM:
            result = ux + uy;
            break;
        case TUTTI_PRODUCT:
            result = ux * uy;
            break;
        case TUTTI_MIN:
            result = static_cast<Unsigned128>(x < y ? x : y);
            break;
        case TUTTI_MAX:
            result = static_cast<Unsigned128>(x > y ? x : y);
            break;
        case TUTTI_BAND:
            result = ux & uy;
            break;
        case TUTTI_BOR:
            result = ux | uy;
            break;
        case TUTTI_BXOR:
            result = ux ^ uy;
            break;
        default:
            TUTTI_ASSERT(false);
    }
    return static_cast<uint64_t>(result % (Unsigned128{1} << element.bits));
}

bool bool_reference(tutti_reduce_op op, bool a, bool b) {
    if (op == TUTTI_BXOR) return a != b;
    const bool any = op == TUTTI_SUM || op == TUTTI_MAX || op == TUTTI_BOR;
    return any ? a || b : a && b;
}

// 16-bit formats calculate in float32.
uint64_t encode_result(Exact value, Element element) {
    if (element.bits == 16) value = decode(encode(value, float32), float32);
    return encode(value, element.format);
}

uint64_t float_reference(Element element, tutti_reduce_op op, uint64_t a, uint64_t b) {
    const Exact x = decode(a, element.format);
    const Exact y = decode(b, element.format);
    if (op == TUTTI_SUM || op == TUTTI_AVG) return encode_result(x + y, element);
    if (op == TUTTI_PRODUCT) return encode_result(x * y, element);
    TUTTI_ASSERT(op == TUTTI_MIN || op == TUTTI_MAX);
    if (x != x || y != y) return encode(x + y, element.format);
    const bool x_is_less = x < y || (x == y && is_negative(x));
    return x_is_less == (op == TUTTI_MIN) ? a : b;
}

}  // namespace

Element element_of(tutti_dtype dtype) {
    switch (dtype) {
        case TUTTI_INT8:
            return {Element::Signed, 8, {}};
        case TUTTI_UINT8:
            return {Element::Unsigned, 8, {}};
        case TUTTI_INT16:
            return {Element::Signed, 16, {}};
        case TUTTI_UINT16:
            return {Element::Unsigned, 16, {}};
        case TUTTI_INT32:
            return {Element::Signed, 32, {}};
        case TUTTI_UINT32:
            return {Element::Unsigned, 32, {}};
        case TUTTI_INT64:
            return {Element::Signed, 64, {}};
        case TUTTI_UINT64:
            return {Element::Unsigned, 64, {}};
        case TUTTI_FLOAT16:
            return {Element::Floating, 16, {5, 10}};
        case TUTTI_BFLOAT16:
            return {Element::Floating, 16, {8, 7}};
        case TUTTI_FLOAT32:
        case TUTTI_COMPLEX64:
            return {Element::Floating, 32, float32};
        case TUTTI_FLOAT64:
        case TUTTI_COMPLEX128:
            return {Element::Floating, 64, {11, 52}};
        default:
            TUTTI_ASSERT(dtype == TUTTI_BOOL);
            return {Element::Bool, 8, {}};
    }
}

int parts_of(tutti_dtype dtype) {
    return dtype == TUTTI_COMPLEX64 || dtype == TUTTI_COMPLEX128 ? 2 : 1;
}

bool expected_to_be_reducible(tutti_dtype dtype, tutti_reduce_op op) {
    const bool floating = element_of(dtype).kind == Element::Floating;
    if (op == TUTTI_SUM) return true;
    if (op == TUTTI_AVG) return floating;
    if (op == TUTTI_BAND || op == TUTTI_BOR || op == TUTTI_BXOR) return !floating;
    return parts_of(dtype) == 1;
}

Exact decode(uint64_t bits, Format format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const uint64_t one = uint64_t{1} << format.mantissa_bits;
    const uint64_t mantissa = bits % one;
    const int exponent = static_cast<int>((bits / one) % (uint64_t{1} << format.exponent_bits));
    const bool negative = (bits >> (format.exponent_bits + format.mantissa_bits)) != 0;
    Exact magnitude = 0;
    if (exponent == 2 * bias + 1) {
        magnitude = mantissa == 0 ? __builtin_inf() : __builtin_nan("");
    } else if (exponent == 0) {
        magnitude = static_cast<Exact>(mantissa) * power_of_two(1 - bias - format.mantissa_bits);
    } else {
        magnitude = static_cast<Exact>(one + mantissa) *
                    power_of_two(exponent - bias - format.mantissa_bits);
    }
    return negative ? -magnitude : magnitude;
}

uint64_t encode(Exact value, Format format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const uint64_t one = uint64_t{1} << format.mantissa_bits;
    const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) * one;
    if (value != value) return infinity + one / 2;
    const uint64_t sign = is_negative(value) ? (infinity + one) : 0;
    const Exact magnitude = value < 0 ? -value : value;
    if (magnitude == 0) return sign;
    if (magnitude >= power_of_two(bias + 1)) return sign + infinity;
    const int exponent = exponent_of(magnitude);
    const bool subnormal = exponent < 1 - bias;
    const int last_place = (subnormal ? 1 - bias : exponent) - format.mantissa_bits;
    const Exact scaled = magnitude * power_of_two(-last_place);
    auto whole = static_cast<uint64_t>(scaled);
    const Exact rest = scaled - static_cast<Exact>(whole);
    if (rest > 0.5 || (rest == 0.5 && whole % 2 == 1)) ++whole;
    // A carry out of the mantissa makes the next exponent, at last infinity, by itself.
    return sign + whole + (subnormal ? 0 : static_cast<uint64_t>(exponent + bias - 1) * one);
}

uint64_t reference(tutti_dtype dtype, tutti_reduce_op op, uint64_t a, uint64_t b) {
    const Element element = element_of(dtype);
    if (element.kind == Element::Floating) return float_reference(element, op, a, b);
    if (element.kind == Element::Bool) return bool_reference(op, a != 0, b != 0) ? 1 : 0;
    return integer_reference(element, op, a, b);
}

Format calculation_format(tutti_dtype dtype) {
    const Element element = element_of(dtype);
    return element.bits == 16 ? float32 : element.format;
}

uint64_t reference_scaled(tutti_dtype dtype, uint64_t a, uint64_t factor) {
    const Element element = element_of(dtype);
    if (element.kind != Element::Floating) {
        return integer_reference(element, TUTTI_PRODUCT, a, factor);
    }
    const Exact product = decode(a, element.format) * decode(factor, calculation_format(dtype));
    return encode_result(product, element);
}

std::pair<uint64_t, uint64_t> reference_complex_product(tutti_dtype dtype,
                                                        std::pair<uint64_t, uint64_t> a,
                                                        std::pair<uint64_t, uint64_t> factor) {
    const Format format = element_of(dtype).format;
    // Each product is rounded, then their difference or sum.
    const auto product = [&](uint64_t x, uint64_t y) {
        return decode(encode(decode(x, format) * decode(y, format), format), format);
    };
    return {encode(product(a.first, factor.first) - product(a.second, factor.second), format),
            encode(product(a.first, factor.second) + product(a.second, factor.first), format)};
}

uint64_t reference_division(tutti_dtype dtype, uint64_t a, int ranks) {
    const Element element = element_of(dtype);
    const Format format = element.bits == 16 ? float32 : element.format;
    const Exact divisor = decode(encode(ranks, format), format);
    return encode_result(decode(a, element.format) / divisor, element);
}

}  // namespace tutti::test
