// The floating-point formats: their bits, their one NaN, and how 16-bit numbers become float32 and
// return, rounded to nearest even. Part of the kernels: sweep.hpp says what that means. Any thread.
#pragma once

#include "sweep.hpp"

namespace tutti {
namespace {

struct Float32 {
    using Number = float;
    using Signed = int32_t;
    static constexpr int32_t magnitude = 0x7fffffff;
    static constexpr int32_t infinity = 0x7f800000;
    static constexpr int32_t nan = 0x7fc00000;
};

struct Float64 {
    using Number = double;
    using Signed = int64_t;
    static constexpr int64_t magnitude = 0x7fffffffffffffff;
    static constexpr int64_t infinity = 0x7ff0000000000000;
    static constexpr int64_t nan = 0x7ff8000000000000;
};

// Every NaN becomes the format's one, so that neither the order of the operands nor the processor
// shows in the result.
template <typename Format, size_t bytes>
inline Lanes<typename Format::Number, bytes> one_nan(Lanes<typename Format::Number, bytes> x) {
    using Words = Lanes<typename Format::Signed, bytes>;
    const Words ordered = x == x;
    return as<decltype(x)>((as<Words>(x) & ordered) | (Format::nan & ~ordered));
}

// A vector of 16-bit numbers as two of float32. Which number goes where is the format's own affair,
// as long as narrow() undoes widen(); in_order() puts them in their order, from_order() undoes it.
template <size_t bytes>
struct Wide {
    Lanes<float, bytes> first;
    Lanes<float, bytes> second;
};

// Numbers that alternate between the two vectors, the even ones in the first, and the same in their
// order.
template <size_t bytes>
Wide<bytes> from_alternating(Wide<bytes> x);
template <size_t bytes>
Wide<bytes> to_alternating(Wide<bytes> x);

template <>
inline Wide<16> from_alternating<16>(Wide<16> x) {
    return {__builtin_shufflevector(x.first, x.second, 0, 4, 1, 5),
            __builtin_shufflevector(x.first, x.second, 2, 6, 3, 7)};
}
template <>
inline Wide<16> to_alternating<16>(Wide<16> x) {
    return {__builtin_shufflevector(x.first, x.second, 0, 2, 4, 6),
            __builtin_shufflevector(x.first, x.second, 1, 3, 5, 7)};
}

#if defined(__AVX2__)
template <>
inline Wide<32> from_alternating<32>(Wide<32> x) {
    return {__builtin_shufflevector(x.first, x.second, 0, 8, 1, 9, 2, 10, 3, 11),
            __builtin_shufflevector(x.first, x.second, 4, 12, 5, 13, 6, 14, 7, 15)};
}
template <>
inline Wide<32> to_alternating<32>(Wide<32> x) {
    return {__builtin_shufflevector(x.first, x.second, 0, 2, 4, 6, 8, 10, 12, 14),
            __builtin_shufflevector(x.first, x.second, 1, 3, 5, 7, 9, 11, 13, 15)};
}
#endif

#if defined(__AVX512F__)
template <>
inline Wide<64> from_alternating<64>(Wide<64> x) {
    return {__builtin_shufflevector(x.first, x.second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                    22, 7, 23),
            __builtin_shufflevector(x.first, x.second, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                    14, 30, 15, 31)};
}
template <>
inline Wide<64> to_alternating<64>(Wide<64> x) {
    return {__builtin_shufflevector(x.first, x.second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22,
                                    24, 26, 28, 30),
            __builtin_shufflevector(x.first, x.second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
                                    25, 27, 29, 31)};
}
#endif

struct BFloat16 {
    using Signed = int16_t;
    static constexpr int16_t magnitude = 0x7fff;
    static constexpr int16_t infinity = 0x7f80;
    static constexpr int16_t nan = 0x7fc0;

    template <size_t bytes>
    static Wide<bytes> widen(Raw<bytes> raw) {
        const auto pairs = as<Lanes<uint32_t, bytes>>(raw);
        return {as<Lanes<float, bytes>>(pairs << 16), as<Lanes<float, bytes>>(pairs & 0xffff0000U)};
    }

    template <size_t bytes>
    static Wide<bytes> in_order(Wide<bytes> wide) {
        return from_alternating<bytes>(wide);
    }
    template <size_t bytes>
    static Wide<bytes> from_order(Wide<bytes> wide) {
        return to_alternating<bytes>(wide);
    }

    template <size_t bytes>
    static Raw<bytes> narrow(Wide<bytes> wide) {
        return as<Raw<bytes>>((rounded<bytes>(wide.first) >> 16) |
                              (rounded<bytes>(wide.second) & 0xffff0000U));
    }

private:
    // The upper half is the result; no NaN but one_nan()'s comes here, and it stays itself.
    template <size_t bytes>
    static Lanes<uint32_t, bytes> rounded(Lanes<float, bytes> x) {
        const auto words = as<Lanes<uint32_t, bytes>>(x);
        return words + (0x7fffU + ((words >> 16) & 1U));
    }
};

}  // namespace
}  // namespace tutti
