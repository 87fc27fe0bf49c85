#include "arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace fake_nccl {

namespace {

// float16 and bfloat16 as 16 bits, by the bits of their exponents.
template <int exponent>
struct Half {
    uint16_t bits;
};

template <typename T>
double value_of(T value) {
    return static_cast<double>(value);
}
template <int exponent>
double value_of(Half<exponent> half) {
    constexpr int fraction = 15 - exponent;
    const int power = half.bits >> fraction & ((1 << exponent) - 1);
    const int digits = half.bits & ((1 << fraction) - 1);
    const double sign = half.bits >> 15 != 0 ? -1 : 1;
    constexpr int bias = (1 << (exponent - 1)) - 1;
    if (power == (1 << exponent) - 1) return digits != 0 ? NAN : sign * INFINITY;
    if (power == 0) return sign * std::ldexp(digits, 1 - bias - fraction);
    return sign * std::ldexp(digits | 1 << fraction, power - bias - fraction);
}

template <typename T>
void put(double value, T& out) {
    out = static_cast<T>(value);
}
template <int exponent>
void put(double value, Half<exponent>& out) {
    constexpr int fraction = 15 - exponent;
    constexpr int bias = (1 << (exponent - 1)) - 1;
    const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
    constexpr int infinite = ((1 << exponent) - 1) << fraction;
    if (std::isnan(value)) {
        out.bits = static_cast<uint16_t>(infinite | 1 << (fraction - 1));
        return;
    }
    const double size = std::fabs(value);
    const int power = size == 0 || std::isinf(size) ? 0 : std::max(std::ilogb(size), 1 - bias);
    const double digits = std::nearbyint(std::ldexp(size, fraction - power));  // ties to even
    if (std::isinf(size) || digits * std::ldexp(1, power - fraction) >= std::ldexp(1, bias + 1)) {
        out.bits = static_cast<uint16_t>(sign | infinite);
        return;
    }
    // A carry of the digits goes to the exponent; one of 0 is that of a subnormal number.
    const int normal = 1 << fraction;
    const auto whole = static_cast<int>(digits);
    const int bits = whole < normal ? whole : ((power + bias - 1) << fraction) + whole;
    out.bits = static_cast<uint16_t>(sign | bits);
}

template <typename Number>
Number combine(int op, Number left, Number right) {
    switch (op) {
        case ncclProd:
            return static_cast<Number>(left * right);
        case ncclMax:
            return std::max(left, right);
        case ncclMin:
            return std::min(left, right);
        default:
            return static_cast<Number>(left + right);
    }
}

template <typename T>
T load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename T>
void reduce_as(const Shape& shape, const Lane* lanes, int ranks, bool has_factors, size_t offset,
               char* out, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const size_t at = offset + i * sizeof(T);
        T result{};
        if constexpr (std::is_integral_v<T>) {
            using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
            const auto of = [&](int rank) {
                const uint64_t factor = has_factors ? lanes[rank].whole_factor : 1;
                return static_cast<T>(static_cast<uint64_t>(load<T>(lanes[rank].data + at)) *
                                      factor);
            };
            T sum = of(0);
            for (int rank = 1; rank < ranks; ++rank) {
                // Sums and products wrap; unsigned arithmetic may.
                const bool wraps = shape.op != ncclMax && shape.op != ncclMin;
                sum = wraps ? static_cast<T>(combine<uint64_t>(shape.op, static_cast<uint64_t>(sum),
                                                               static_cast<uint64_t>(of(rank))))
                            : static_cast<T>(combine<Wide>(shape.op, sum, of(rank)));
            }
            result = shape.op == ncclAvg ? static_cast<T>(sum / ranks) : sum;
        } else {
            const double share = shape.op == ncclAvg ? 1.0 / ranks : 1;
            const auto of = [&](int rank) {
                const double factor = has_factors ? lanes[rank].factor : share;
                return value_of(load<T>(lanes[rank].data + at)) * factor;
            };
            double sum = of(0);
            for (int rank = 1; rank < ranks; ++rank) sum = combine(shape.op, sum, of(rank));
            put(sum, result);
        }
        std::memcpy(out + i * sizeof(T), &result, sizeof result);
    }
}

// Calls body with a value of the type.
template <typename Body>
auto as_type(int type, Body&& body) {
    switch (type) {
        case ncclInt8:
            return body(int8_t{});
        case ncclInt32:
            return body(int32_t{});
        case ncclUint32:
            return body(uint32_t{});
        case ncclInt64:
            return body(int64_t{});
        case ncclUint64:
            return body(uint64_t{});
        case ncclFloat16:
            return body(Half<5>{});
        case ncclBfloat16:
            return body(Half<8>{});
        case ncclFloat32:
            return body(float{});
        case ncclFloat64:
            return body(double{});
        default:
            return body(uint8_t{});
    }
}

}  // namespace

size_t width_of(int type) {
    return as_type(type, [](auto value) { return sizeof value; });
}

void read_factor(int type, const void* scalar, double& factor, uint64_t& whole_factor) {
    as_type(type, [&](auto value) {
        std::memcpy(&value, scalar, sizeof value);
        if constexpr (std::is_integral_v<decltype(value)>) {
            whole_factor = static_cast<uint64_t>(value);
        } else {
            factor = value_of(value);
        }
    });
}

void reduce(const Shape& shape, const Lane* lanes, int ranks, bool has_factors, size_t offset,
            void* out, size_t count) {
    as_type(shape.type, [&](auto value) {
        reduce_as<decltype(value)>(shape, lanes, ranks, has_factors, offset,
                                   static_cast<char*>(out), count);
    });
}

}  // namespace fake_nccl
