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
// as long as narrow() undoes widen().
template <size_t bytes>
struct Wide {
    Lanes<float, bytes> first;
    Lanes<float, bytes> second;
};

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
