// The formats whose sums are calculated in doubles: how a vector of numbers becomes doubles, and
// how doubles become numbers, rounded once. Part of the kernels: sweep.hpp says what that means.
// Any thread.
#pragma once

#include "exact_vectors.hpp"
#include "float16.hpp"
#include "kernels.hpp"

namespace tutti {
namespace {

// A sum of numbers whose largest and smallest exponents are that far apart has this many bits, and
// one more for each doubling of their number: an exact double's 53 at most.
constexpr int spread_of_bits(int mantissa_bits) {
    return 53 - mantissa_bits;
}

template <size_t bytes>
struct SingleParts {
    DoublePair<bytes> doubles[1];
    Lanes<int32_t, bytes> bits[1];  // as float32
};

template <size_t bytes>
struct DoubleParts {
    DoublePair<bytes> doubles[2];
    Lanes<int32_t, bytes> bits[2];
};

struct ExactFloat32 {
    using Unit = uint32_t;
    static constexpr tutti_dtype dtype = TUTTI_FLOAT32;
    static constexpr size_t parts = 1;
    static constexpr bool always_fits = false;
    static constexpr int spread = spread_of_bits(24);
    template <size_t bytes>
    using Parts = SingleParts<bytes>;

    template <size_t bytes>
    static Parts<bytes> read(const uint8_t* from) {
        return {{as_doubles<bytes>(from)}, {load<Lanes<int32_t, bytes>>(from)}};
    }

    template <size_t bytes>
    static Raw<bytes> rounded(const DoublePair<bytes>* exact) {
        return as<Raw<bytes>>(one_nan<Float32, bytes>(as_floats<bytes>(exact[0])));
    }
};

template <typename Format>
struct ExactNarrow {
    using Unit = uint16_t;
    static constexpr size_t parts = 2;
    template <size_t bytes>
    using Parts = DoubleParts<bytes>;

    template <size_t bytes>
    static Parts<bytes> read(const uint8_t* from) {
        using Words = Lanes<int32_t, bytes>;
        const auto wide = Format::template widen<bytes>(load<Raw<bytes>>(from));
        return {{as_doubles<bytes>(wide.first), as_doubles<bytes>(wide.second)},
                {as<Words>(wide.first), as<Words>(wide.second)}};
    }

    template <size_t bytes>
    static Raw<bytes> rounded(const DoublePair<bytes>* exact) {
        return Format::template narrow<bytes>(
            {one_nan<Float32, bytes>(odd_floats<bytes>(exact[0])),
             one_nan<Float32, bytes>(odd_floats<bytes>(exact[1]))});
    }

private:
    template <size_t bytes>
    static Lanes<float, bytes> odd_floats(DoublePair<bytes> x) {
        return as_floats<bytes>(
            {rounded_to_odd_float<bytes>(x.low), rounded_to_odd_float<bytes>(x.high)});
    }
};

struct ExactBFloat16 : ExactNarrow<BFloat16> {
    static constexpr tutti_dtype dtype = TUTTI_BFLOAT16;
    static constexpr bool always_fits = false;
    static constexpr int spread = spread_of_bits(8);
};

// Each is a multiple of 2^-24 and less than 2^16, and max_exact_inputs of them are less than 2^29:
// a double holds every sum.
struct ExactFloat16 : ExactNarrow<Float16> {
    static constexpr tutti_dtype dtype = TUTTI_FLOAT16;
    static constexpr bool always_fits = true;
    static constexpr int spread = 53;
};

}  // namespace
}  // namespace tutti
