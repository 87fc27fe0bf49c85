// The pieces that exact sums are made of: vectors of doubles beside those of float32, sums with
// their errors, rounding to odd. Part of the kernels: sweep.hpp says what that means. Any thread.
#pragma once

#include "formats.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tutti {
namespace {

template <size_t bytes>
using Doubles = Lanes<double, bytes>;

// The numbers of one vector of float32, as doubles.
template <size_t bytes>
struct DoublePair {
    Doubles<bytes> low;
    Doubles<bytes> high;
};

template <size_t bytes>
inline Doubles<bytes> wider(Lanes<float, bytes / 2> x) {
#if defined(__AVX512F__)
    // For the other form gcc 12 makes three instructions.
    if constexpr (bytes == 64) return _mm512_maskz_cvtps_pd(0xff, x);
#endif
    return __builtin_convertvector(x, Doubles<bytes>);
}

template <size_t bytes>
inline DoublePair<bytes> as_doubles(const uint8_t* floats) {
    using Half = Lanes<float, bytes / 2>;
    return {wider<bytes>(load<Half>(floats)), wider<bytes>(load<Half>(floats + bytes / 2))};
}

// Two vectors side by side in a register, without a way through memory.
template <size_t bytes>
struct Halves;

template <>
struct Halves<16> {
    static auto low(Lanes<float, 16> x) { return __builtin_shufflevector(x, x, 0, 1); }
    static auto high(Lanes<float, 16> x) { return __builtin_shufflevector(x, x, 2, 3); }
    static Lanes<float, 16> join(Lanes<float, 8> low, Lanes<float, 8> high) {
        return __builtin_shufflevector(low, high, 0, 1, 2, 3);
    }
};

#if defined(__AVX2__)
template <>
struct Halves<32> {
    static auto low(Lanes<float, 32> x) { return __builtin_shufflevector(x, x, 0, 1, 2, 3); }
    static auto high(Lanes<float, 32> x) { return __builtin_shufflevector(x, x, 4, 5, 6, 7); }
    static Lanes<float, 32> join(Lanes<float, 16> low, Lanes<float, 16> high) {
        return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
};
#endif

#if defined(__AVX512F__)
template <>
struct Halves<64> {
    static auto low(Lanes<float, 64> x) {
        return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
    }
    static auto high(Lanes<float, 64> x) {
        return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    static Lanes<float, 64> join(Lanes<float, 32> low, Lanes<float, 32> high) {
        return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                       15);
    }
};
#endif

template <size_t bytes>
inline DoublePair<bytes> as_doubles(Lanes<float, bytes> x) {
    return {wider<bytes>(Halves<bytes>::low(x)), wider<bytes>(Halves<bytes>::high(x))};
}

// Rounded to nearest even.
template <size_t bytes>
inline Lanes<float, bytes> as_floats(DoublePair<bytes> x) {
    using Half = Lanes<float, bytes / 2>;
    return Halves<bytes>::join(__builtin_convertvector(x.low, Half),
                               __builtin_convertvector(x.high, Half));
}

// Whether a bit is set.
template <size_t bytes>
inline bool any(Raw<bytes> bits) {
#if defined(__AVX512F__)
    if constexpr (bytes == 64) {
        const auto words = reinterpret_cast<__m512i>(bits);
        return _mm512_test_epi64_mask(words, words) != 0;
    }
#endif
#if defined(__AVX2__)
    if constexpr (bytes == 32) {
        const auto words = reinterpret_cast<__m256i>(bits);
        return _mm256_testz_si256(words, words) == 0;
    }
#endif
    const auto words = as<Lanes<uint64_t, bytes>>(bits);
    uint64_t all = 0;
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) all |= words[i];
    return all != 0;
}

// changed | (a ^ b)
template <size_t bytes>
inline Lanes<int64_t, bytes> or_differing(Lanes<int64_t, bytes> changed, Doubles<bytes> a,
                                          Doubles<bytes> b) {
    using Words = Lanes<int64_t, bytes>;
#if defined(__AVX512F__)
    if constexpr (bytes == 64) {
        constexpr int first_or_others_differ = 0xf6;
        return reinterpret_cast<Words>(_mm512_ternarylogic_epi64(
            reinterpret_cast<__m512i>(changed), reinterpret_cast<__m512i>(a),
            reinterpret_cast<__m512i>(b), first_or_others_differ));
    }
#endif
    return changed | (as<Words>(a) ^ as<Words>(b));
}

template <size_t bytes>
inline Doubles<bytes> magnitude_of(Doubles<bytes> x) {
    return as<Doubles<bytes>>(as<Lanes<int64_t, bytes>>(x) & Float64::magnitude);
}

// sum + error is a + b exactly (Knuth), unless the sum overflows.
template <size_t bytes>
struct Sum {
    Doubles<bytes> sum;
    Doubles<bytes> error;
};

template <size_t bytes>
inline Sum<bytes> two_sum(Doubles<bytes> a, Doubles<bytes> b) {
    const auto sum = a + b;
    const auto b_in_it = sum - a;
    return {sum, (a - (sum - b_in_it)) + (b - b_in_it)};
}

// x + rest, rounded to the neighbour whose last bit is 1 if it is no double: rounded once more, to
// a format of at least two bits less, it is what the exact value gives. x is x + rest rounded.
template <size_t bytes>
inline Doubles<bytes> rounded_to_odd(Doubles<bytes> x, Doubles<bytes> rest) {
    using Words = Lanes<int64_t, bytes>;
    const Words bits = as<Words>(x);
    const Words is_even = (bits & 1) - 1;
    const Words differ_in_sign = (bits ^ as<Words>(rest)) < 0;
    const Words is_more = magnitude_of<bytes>(rest) > 0;  // not of a NaN
    return as<Doubles<bytes>>(bits + ((differ_in_sign | 1) & is_even & is_more));
}

// The same for doubles that become float32: the last bit that float32 keeps is 1 if a bit is lost.
template <size_t bytes>
inline Doubles<bytes> rounded_to_odd_float(Doubles<bytes> x) {
    using Words = Lanes<uint64_t, bytes>;
    constexpr uint64_t lost = (uint64_t{1} << 29) - 1;
    const Words bits = as<Words>(x);
    return as<Doubles<bytes>>((bits | ((bits & lost) + lost)) & ~lost);
}

// Largest and smallest magnitude, zero not counted, of the float32 that are noted, lane by lane and
// as bits. Of NaN nothing is promised.
template <size_t bytes>
class Extremes {
public:
    using Words = Lanes<int32_t, bytes>;

    void note(Words bits) {
        // Less 1, a zero is as large as can be, and a NaN.
        const Words less_one = bits - 1;
#if defined(__AVX512DQ__)
        if constexpr (bytes == 64) {
            constexpr __mmask16 all = 0xffff;
            constexpr int smaller_magnitude = 0b1010;
            constexpr int larger_magnitude = 0b1011;
            smallest_ = as<Words>(_mm512_maskz_range_ps(all, reinterpret_cast<__m512>(smallest_),
                                                        reinterpret_cast<__m512>(less_one),
                                                        smaller_magnitude));
            largest_ =
                as<Words>(_mm512_maskz_range_ps(all, reinterpret_cast<__m512>(largest_),
                                                reinterpret_cast<__m512>(bits), larger_magnitude));
            return;
        }
#endif
        const Words small = less_one & Float32::magnitude;
        const Words large = bits & Float32::magnitude;
        smallest_ = smallest_ < small ? smallest_ : small;
        largest_ = largest_ > large ? largest_ : large;
    }

    // Whether in a lane the exponents may be more than `limit` apart: they are not if the bits,
    // taken for numbers, are no further apart. Infinities count as large.
    [[nodiscard]] bool spread_beyond(int32_t limit) const {
        constexpr int mantissa_bits = 23;
        const Words apart = largest_ - smallest_;
        const int32_t most = (limit << mantissa_bits) + 1;
#if defined(__AVX512F__)
        if constexpr (bytes == 64) {
            return _mm512_cmpgt_epi32_mask(reinterpret_cast<__m512i>(apart),
                                           _mm512_set1_epi32(most)) != 0;
        }
#endif
        return any<bytes>(as<Raw<bytes>>(apart > most));
    }

private:
    Words smallest_ = Words{} + Float32::magnitude;
    Words largest_{};
};

}  // namespace
}  // namespace tutti
