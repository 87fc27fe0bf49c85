// The operations on a pair of vectors: one struct per kind of operation, for sweep(). Part of the
// kernels: sweep.hpp says what that means. Any thread.
#pragma once

#include "float16.hpp"

namespace tutti {
namespace {

struct Add {
    template <typename Vector>
    static Vector of(Vector a, Vector b) {
        return a + b;
    }
};
struct Multiply {
    template <typename Vector>
    static Vector of(Vector a, Vector b) {
        return a * b;
    }
};
struct And {
    template <typename Vector>
    static Vector of(Vector a, Vector b) {
        return a & b;
    }
};
struct Or {
    template <typename Vector>
    static Vector of(Vector a, Vector b) {
        return a | b;
    }
};
struct Xor {
    template <typename Vector>
    static Vector of(Vector a, Vector b) {
        return a ^ b;
    }
};
// Masks, all ones where the first operand is to be taken.
struct Less {
    template <typename Vector>
    static auto of(Vector a, Vector b) {
        return a < b;
    }
};
struct Greater {
    template <typename Vector>
    static auto of(Vector a, Vector b) {
        return a > b;
    }
};

// T is unsigned also for signed dtypes: two's complement gives the same bits, without overflow.
template <typename T, typename Do>
struct Integers {
    using Unit = T;
    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes> b) const {
        return as<Raw<bytes>>(Do::of(as<Lanes<T, bytes>>(a), as<Lanes<T, bytes>>(b)));
    }
};

template <typename T, typename UnsignedT, typename Preferred>
struct IntegerExtremes {
    using Unit = UnsignedT;
    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes> b) const {
        const auto take_a =
            as<Raw<bytes>>(Preferred::of(as<Lanes<T, bytes>>(a), as<Lanes<T, bytes>>(b)));
        return (a & take_a) | (b & ~take_a);
    }
};

// Every byte but 0 is true; results are 0 and 1.
template <typename Do>
struct Booleans {
    using Unit = uint8_t;
    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes> b) const {
        return Do::of(as<Raw<bytes>>(a != 0), as<Raw<bytes>>(b != 0)) & 1;
    }
};

template <typename Format, typename UnsignedT, typename Do>
struct Floats {
    using Unit = UnsignedT;
    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes> b) const {
        using Numbers = Lanes<typename Format::Number, bytes>;
        return as<Raw<bytes>>(one_nan<Format, bytes>(Do::of(as<Numbers>(a), as<Numbers>(b))));
    }
};

template <typename Format, typename Do>
struct NarrowFloats {
    using Unit = uint16_t;
    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes> b) const {
        const auto x = Format::template widen<bytes>(a);
        const auto y = Format::template widen<bytes>(b);
        return Format::template narrow<bytes>(
            {one_nan<Float32, bytes>(Do::of(x.first, y.first)),
             one_nan<Float32, bytes>(Do::of(x.second, y.second))});
    }
};

// MIN and MAX of every floating-point format, by its bits alone: as sign and magnitude they order
// like integers, -0 before +0, and a NaN is what lies beyond infinity.
template <typename Format, typename UnsignedT, typename Preferred>
struct FloatExtremes {
    using Unit = UnsignedT;
    using Signed = typename Format::Signed;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> raw_a, Raw<bytes> raw_b) const {
        using Words = Lanes<Signed, bytes>;
        const auto a = as<Words>(raw_a);
        const auto b = as<Words>(raw_b);
        const auto take_a = as<Words>(Preferred::of(ordered<bytes>(a), ordered<bytes>(b)));
        const auto is_nan = as<Words>(((a & Format::magnitude) > Format::infinity) |
                                      ((b & Format::magnitude) > Format::infinity));
        const Words number = (a & take_a) | (b & ~take_a);
        return as<Raw<bytes>>((number & ~is_nan) | (Format::nan & is_nan));
    }

private:
    template <size_t bytes>
    static Lanes<Signed, bytes> ordered(Lanes<Signed, bytes> x) {
        constexpr int sign_bit = 8 * sizeof(Signed) - 1;
        return x ^ ((x >> sign_bit) & Format::magnitude);
    }
};

// AVG's division: by a number, whatever the second operand.
template <typename Format, typename UnsignedT>
struct DividedFloats {
    using Unit = UnsignedT;
    typename Format::Number divisor;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes>) const {
        using Numbers = Lanes<typename Format::Number, bytes>;
        return as<Raw<bytes>>(one_nan<Format, bytes>(as<Numbers>(a) / divisor));
    }
};

template <typename Format>
struct DividedNarrowFloats {
    using Unit = uint16_t;
    float divisor;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes>) const {
        const auto x = Format::template widen<bytes>(a);
        return Format::template narrow<bytes>({one_nan<Float32, bytes>(x.first / divisor),
                                               one_nan<Float32, bytes>(x.second / divisor)});
    }
};

// PREMUL_SUM's factor, whatever the second operand.
template <typename T>
struct ScaledIntegers {
    using Unit = T;
    T factor;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes>) const {
        return as<Raw<bytes>>(as<Lanes<T, bytes>>(a) * factor);
    }
};

template <typename Format, typename UnsignedT>
struct ScaledFloats {
    using Unit = UnsignedT;
    typename Format::Number factor;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes>) const {
        using Numbers = Lanes<typename Format::Number, bytes>;
        return as<Raw<bytes>>(one_nan<Format, bytes>(as<Numbers>(a) * factor));
    }
};

template <typename Format>
struct ScaledNarrowFloats {
    using Unit = uint16_t;
    float factor;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes>) const {
        const auto x = Format::template widen<bytes>(a);
        return Format::template narrow<bytes>({one_nan<Float32, bytes>(x.first * factor),
                                               one_nan<Float32, bytes>(x.second * factor)});
    }
};

// Times a complex factor: every part times its real part, and the other part of the same number,
// times plus or minus its imaginary part. (Written out for one number after the other, gcc 12 makes
// fused instructions of it, whatever its flags say.)
template <typename Format>
struct ScaledComplex {
    using Unit = uint64_t;  // a whole complex64; a complex128 is never alone in a vector
    using Number = typename Format::Number;
    Number real;
    Number imaginary;

    template <size_t bytes>
    Raw<bytes> apply(Raw<bytes> a, Raw<bytes>) const {
        using Numbers = Lanes<Number, bytes>;
        const auto x = as<Numbers>(a);
        Numbers other = x;
        Numbers signed_imaginary = x;
        for (size_t at = 0; at < bytes / sizeof(Number); ++at) {
            other[at] = x[at ^ 1];
            signed_imaginary[at] = at % 2 == 0 ? -imaginary : imaginary;
        }
        return as<Raw<bytes>>(one_nan<Format, bytes>(x * real + other * signed_imaginary));
    }
};

}  // namespace
}  // namespace tutti
