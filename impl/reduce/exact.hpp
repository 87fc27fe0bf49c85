// Correctly rounded sums of several inputs, in three steps: a fast one that is exact for numbers of
// like size and knows when it is not; then, for a vector that has such lanes, sums with their
// errors and a bound of what those lack; then, for lanes which that does not decide, integers
// (sum_numbers_exactly). README.md has the bounds. Part of the kernels: sweep.hpp says what that
// means. Any thread.
#pragma once

#include "exact_formats.hpp"

namespace tutti {
namespace {

inline int doublings(size_t number) {
    return number < 2 ? 0 : 64 - __builtin_clzll(number - 1);
}

// A sum as sum + error, and a bound of what is missing: the magnitudes of the errors' errors, added
// with a relative error far below 1, so twice that is safe.
template <size_t bytes>
struct BoundedSum {
    using Vector = Doubles<bytes>;
    Vector sum;
    Vector error{};
    Vector missing{};

    void add(Vector x) {
        const auto next = two_sum<bytes>(sum, x);
        const auto errors = two_sum<bytes>(error, next.error);
        sum = next.sum;
        error = errors.sum;
        missing += magnitude_of<bytes>(errors.error);
    }

    // sum + error as a rounded double and its rest. Where there is no error the sum stays as it is,
    // also a zero's sign and an infinity (beside which the error is no number).
    [[nodiscard]] Sum<bytes> normalised() const {
        const auto whole = two_sum<bytes>(sum, error);
        return {magnitude_of<bytes>(error) > 0 ? whole.sum : sum, whole.error};
    }
};

// Each lane of which a bit is set in `failed` gets its sum from sum_numbers_exactly().
template <typename Unit, size_t bytes, typename Places>
inline Raw<bytes> repaired(Raw<bytes> result, Raw<bytes> failed, tutti_dtype dtype, Places places,
                           size_t number) {
    if (!any<bytes>(failed)) return result;
    constexpr size_t lanes = bytes / sizeof(Unit);
    Unit values[lanes];
    Unit marks[lanes];
    __builtin_memcpy(values, &result, bytes);
    __builtin_memcpy(marks, &failed, bytes);
    for (size_t lane = 0; lane < lanes; ++lane) {
        if (marks[lane] == 0) continue;
        values[lane] = static_cast<Unit>(
            sum_numbers_exactly(dtype, places.inputs, number, places.at + lane * sizeof(Unit)));
    }
    __builtin_memcpy(&result, values, bytes);
    return result;
}

// Numbers that become doubles without loss.
template <typename Format>
struct NarrowSum {
    using Unit = typename Format::Unit;
    static constexpr size_t parts = Format::parts;

    template <size_t bytes, typename Places>
    [[gnu::always_inline]] Raw<bytes> of(Places places, size_t number) const {
        const auto first = Format::template read<bytes>(places[0]);
        DoublePair<bytes> sums[parts];
        Extremes<bytes> extremes[parts];
        for (size_t part = 0; part < parts; ++part) {
            sums[part] = first.doubles[part];
            extremes[part].note(first.bits[part]);
        }
        for (size_t i = 1; i < number; ++i) {
            const auto next = Format::template read<bytes>(places[i]);
            for (size_t part = 0; part < parts; ++part) {
                sums[part].low += next.doubles[part].low;
                sums[part].high += next.doubles[part].high;
                extremes[part].note(next.bits[part]);
            }
        }
        if constexpr (!Format::always_fits) {
            const int32_t limit = Format::spread - doublings(number);
            bool is_beyond = false;
            for (const auto& part : extremes) is_beyond |= part.spread_beyond(limit);
            if (is_beyond) return of_any_size<bytes>(places, number);
        }
        return Format::template rounded<bytes>(sums);
    }

private:
    template <size_t bytes>
    struct Bounds {
        Doubles<bytes> below;
        Doubles<bytes> above;
    };

    // Doubles between which the sum is; the same one, rounded to odd, if it is known exactly. They
    // are further apart than it takes, so that rounding them to doubles does not matter.
    template <size_t bytes>
    static Bounds<bytes> bounds_of(const BoundedSum<bytes>& sum) {
        const auto [x, rest] = sum.normalised();
        const auto odd = rounded_to_odd<bytes>(x, rest);
        const auto is_bounded = sum.missing > 0;
        const auto margin = magnitude_of<bytes>(x) * 0x1p-49 + 2 * sum.missing;
        return {is_bounded ? x - margin : odd, is_bounded ? x + margin : odd};
    }

    template <size_t bytes, typename Places>
    [[gnu::noinline]] static Raw<bytes> of_any_size(Places places, size_t number) {
        const auto first = Format::template read<bytes>(places[0]);
        BoundedSum<bytes> sums[parts][2];
        for (size_t part = 0; part < parts; ++part) {
            sums[part][0].sum = first.doubles[part].low;
            sums[part][1].sum = first.doubles[part].high;
        }
        for (size_t i = 1; i < number; ++i) {
            const auto next = Format::template read<bytes>(places[i]);
            for (size_t part = 0; part < parts; ++part) {
                sums[part][0].add(next.doubles[part].low);
                sums[part][1].add(next.doubles[part].high);
            }
        }
        DoublePair<bytes> below[parts];
        DoublePair<bytes> above[parts];
        for (size_t part = 0; part < parts; ++part) {
            const auto low = bounds_of<bytes>(sums[part][0]);
            const auto high = bounds_of<bytes>(sums[part][1]);
            below[part] = {low.below, high.below};
            above[part] = {low.above, high.above};
        }
        const auto result = Format::template rounded<bytes>(below);
        const auto other = Format::template rounded<bytes>(above);
        return repaired<Unit, bytes>(result, result ^ other, Format::dtype, places, number);
    }
};

struct WideSum {
    using Unit = uint64_t;

    template <size_t bytes, typename Places>
    [[gnu::always_inline]] Raw<bytes> of(Places places, size_t number) const {
        using Vector = Doubles<bytes>;
        using Words = Lanes<int64_t, bytes>;
        auto sum = load<Vector>(places[0]);
        Vector error{};
        Words lost{};
        for (size_t i = 1; i < number; ++i) {
            const auto next = two_sum<bytes>(sum, load<Vector>(places[i]));
            sum = next.sum;
            const Vector errors = error + next.error;
            // Exact if and only if each operand can be had back.
            lost = or_differing<bytes>(lost, errors - error, next.error);
            lost = or_differing<bytes>(lost, errors - next.error, error);
            error = errors;
        }
        const Vector result = error == 0 ? sum : sum + error;
        lost |= as<Words>(result - result);  // an infinity or a NaN
        if (any<bytes>(as<Raw<bytes>>(lost))) return of_any_size<bytes>(places, number);
        return as<Raw<bytes>>(result);
    }

private:
    template <size_t bytes, typename Places>
    [[gnu::noinline]] static Raw<bytes> of_any_size(Places places, size_t number) {
        using Vector = Doubles<bytes>;
        BoundedSum<bytes> sum{load<Vector>(places[0])};
        for (size_t i = 1; i < number; ++i) sum.add(load<Vector>(places[i]));
        const auto [x, rest] = sum.normalised();
        const auto margin = magnitude_of<bytes>(rest) * (1 + 0x1p-50) + 2 * sum.missing;
        const auto decided = (sum.missing == 0) | ((x + margin == x) & (x - margin == x));
        const auto failed = ~(decided & (x - x == 0));
        return repaired<Unit, bytes>(as<Raw<bytes>>(x), as<Raw<bytes>>(failed), TUTTI_FLOAT64,
                                     places, number);
    }
};

}  // namespace
}  // namespace tutti
