// float16 to float32 and back: with the processor's own instructions (F16C) or, to the same bits,
// without. Part of the kernels: sweep.hpp says what that means. Any thread.
#pragma once

#include "formats.hpp"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tutti {
namespace {

#if defined(__F16C__)

constexpr bool float16_alternates = false;

template <size_t bytes>
Wide<bytes> widen_float16(Raw<bytes> raw);
template <size_t bytes>
Raw<bytes> narrow_float16(Wide<bytes> wide);

template <>
inline Wide<16> widen_float16<16>(Raw<16> raw) {
    const auto halves = reinterpret_cast<__m128i>(raw);
    return {_mm_cvtph_ps(halves), _mm_cvtph_ps(_mm_unpackhi_epi64(halves, halves))};
}

template <>
inline Raw<16> narrow_float16<16>(Wide<16> wide) {
    const __m128i low = _mm_cvtps_ph(wide.first, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm_cvtps_ph(wide.second, _MM_FROUND_TO_NEAREST_INT);
    return reinterpret_cast<Raw<16>>(_mm_unpacklo_epi64(low, high));
}

#if defined(__AVX2__)
template <>
inline Wide<32> widen_float16<32>(Raw<32> raw) {
    const auto halves = reinterpret_cast<__m256i>(raw);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)),
            _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
}

template <>
inline Raw<32> narrow_float16<32>(Wide<32> wide) {
    const __m128i low = _mm256_cvtps_ph(wide.first, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph(wide.second, _MM_FROUND_TO_NEAREST_INT);
    return reinterpret_cast<Raw<32>>(_mm256_set_m128i(high, low));
}
#endif

#if defined(__AVX512F__)
// The maskz forms, with every lane taken, are the plain ones less their undefined operand, which
// gcc 12 warns of.
constexpr __mmask8 every_part = 0xff;
constexpr __mmask16 every_number = 0xffff;

template <>
inline Wide<64> widen_float16<64>(Raw<64> raw) {
    const auto halves = reinterpret_cast<__m512i>(raw);
    const __m256i low = _mm512_maskz_extracti64x4_epi64(every_part, halves, 0);
    const __m256i high = _mm512_maskz_extracti64x4_epi64(every_part, halves, 1);
    return {_mm512_maskz_cvtph_ps(every_number, low), _mm512_maskz_cvtph_ps(every_number, high)};
}

template <>
inline Raw<64> narrow_float16<64>(Wide<64> wide) {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT;
    const __m256i low = _mm512_maskz_cvtps_ph(every_number, wide.first, nearest);
    const __m256i high = _mm512_maskz_cvtps_ph(every_number, wide.second, nearest);
    const __m512i both = _mm512_maskz_inserti64x4(every_part, __m512i{}, low, 0);
    return reinterpret_cast<Raw<64>>(_mm512_maskz_inserti64x4(every_part, both, high, 1));
}
#endif

#else

constexpr bool float16_alternates = true;

// Signed, because SSE2 compares nothing else; no magnitude has the sign bit.
template <size_t bytes>
inline Lanes<uint32_t, bytes> at_least(Lanes<uint32_t, bytes> magnitude, int32_t limit) {
    return as<Lanes<uint32_t, bytes>>(as<Lanes<int32_t, bytes>>(magnitude) >= limit);
}

// In each 32-bit lane, for a float16 in its lower half.
template <size_t bytes>
inline Lanes<float, bytes> float32_of(Lanes<uint32_t, bytes> half) {
    using Words = Lanes<uint32_t, bytes>;
    const Words magnitude = half & 0x7fffU;
    // Moved to float32's place the exponent is 112 too small, also for a subnormal: a product
    // repairs both, exactly.
    const auto scaled = as<Lanes<float, bytes>>(magnitude << 13) * 0x1p112F;
    const Words not_finite = at_least<bytes>(magnitude, 0x7c00) & 0x7f800000U;
    return as<Lanes<float, bytes>>(as<Words>(scaled) | not_finite | ((half & 0x8000U) << 16));
}

template <size_t bytes>
inline Lanes<uint32_t, bytes> float16_of(Lanes<float, bytes> x) {
    using Words = Lanes<uint32_t, bytes>;
    using Numbers = Lanes<float, bytes>;
    const Words sign = as<Words>(x) & 0x80000000U;
    const Words magnitude = as<Words>(x) ^ sign;
    // 0.5F has float16's smallest subnormal as its last place: the addition rounds to it.
    const Words small = as<Words>(as<Numbers>(magnitude) + 0.5F) - 0x3f000000U;
    const Words normal = (magnitude - (112U << 23) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    const Words is_normal = at_least<bytes>(magnitude, 0x38800000);
    const Words is_large = at_least<bytes>(magnitude, 0x47800000);
    const Words is_nan = at_least<bytes>(magnitude, 0x7f800001);
    const Words large = 0x7c00U | (is_nan & 0x0200U);
    const Words finite = (normal & is_normal) | (small & ~is_normal);
    return (large & is_large) | (finite & ~is_large) | (sign >> 16);
}

template <size_t bytes>
inline Wide<bytes> widen_float16(Raw<bytes> raw) {
    const auto pairs = as<Lanes<uint32_t, bytes>>(raw);
    return {float32_of<bytes>(pairs & 0xffffU), float32_of<bytes>(pairs >> 16)};
}

template <size_t bytes>
inline Raw<bytes> narrow_float16(Wide<bytes> wide) {
    return as<Raw<bytes>>(float16_of<bytes>(wide.first) | (float16_of<bytes>(wide.second) << 16));
}

#endif

struct Float16 {
    using Signed = int16_t;
    static constexpr int16_t magnitude = 0x7fff;
    static constexpr int16_t infinity = 0x7c00;
    static constexpr int16_t nan = 0x7e00;

    template <size_t bytes>
    static Wide<bytes> widen(Raw<bytes> raw) {
        return widen_float16<bytes>(raw);
    }

    template <size_t bytes>
    static Wide<bytes> in_order(Wide<bytes> wide) {
        return float16_alternates ? from_alternating<bytes>(wide) : wide;
    }
    template <size_t bytes>
    static Wide<bytes> from_order(Wide<bytes> wide) {
        return float16_alternates ? to_alternating<bytes>(wide) : wide;
    }

    template <size_t bytes>
    static Raw<bytes> narrow(Wide<bytes> wide) {
        return narrow_float16<bytes>(wide);
    }
};

}  // namespace
}  // namespace tutti
