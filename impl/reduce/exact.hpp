// Correctly rounded sums of several inputs: first in a fast way that is exact for numbers of like
// size and knows when it is not; then, for a vector that has such lanes, as sums with their errors
// and a bound of what those lack, short ones and long ones; at last, for lanes which that does not
// decide, by integers (sum_numbers_exactly). README.md has the bounds. Part of the kernels:
// sweep.hpp says what that means. Any thread.
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

    [[nodiscard]] const BoundedSum& bounded() const { return *this; }

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

// The same as more doubles, each with what those before it lose: for exponents so far apart, and
// numbers that cancel so well, that two do not tell.
template <size_t bytes>
struct LongSum {
    using Vector = Doubles<bytes>;
    static constexpr size_t length = 6;
    Vector sum;
    Vector errors[length - 1]{};
    Vector missing{};

    void add(Vector x) {
        auto next = two_sum<bytes>(sum, x);
        sum = next.sum;
        for (Vector& error : errors) {
            next = two_sum<bytes>(error, next.error);
            error = next.sum;
        }
        missing += magnitude_of<bytes>(next.error);
    }

    // The small ones are added to the large ones, twice, and what is left counts as missing.
    [[nodiscard]] BoundedSum<bytes> bounded() const {
        Vector parts[length] = {sum};
        for (size_t i = 1; i < length; ++i) parts[i] = errors[i - 1];
        for (int turn = 0; turn < 2; ++turn) {
            for (size_t i = length - 1; i > 0; --i) {
                const auto both = two_sum<bytes>(parts[i - 1], parts[i]);
                parts[i - 1] = both.sum;
                parts[i] = both.error;
            }
        }
        BoundedSum<bytes> result{parts[0], parts[1], missing};
        for (size_t i = 2; i < length; ++i) result.missing += magnitude_of<bytes>(parts[i]);
        return result;
    }
};

// A result, and bits set in each lane that is not decided.
template <size_t bytes>
struct Attempt {
    Raw<bytes> result;
    Raw<bytes> failed;
};

// Sums of numbers of any size, for a Format that knows how to attempt them: a lane of which a bit
// is set after both attempts gets its sum from sum_numbers_exactly().
template <typename Kernel, size_t bytes, typename Places>
[[gnu::noinline]] Raw<bytes> sum_of_any_size(Places places, size_t number) {
    using Unit = typename Kernel::Unit;
    using Units = Lanes<Unit, bytes>;
    const auto first = Kernel::template attempt<BoundedSum<bytes>, bytes>(places, number);
    if (!any<bytes>(first.failed)) return first.result;
    const auto second = Kernel::template attempt<LongSum<bytes>, bytes>(places, number);
    const auto taken = as<Raw<bytes>>(as<Units>(first.failed) != 0);
    Raw<bytes> result = (first.result & ~taken) | (second.result & taken);
    const Raw<bytes> failed = second.failed & taken;
    if (!any<bytes>(failed)) return result;
    constexpr size_t lanes = bytes / sizeof(Unit);
    Unit values[lanes];
    Unit marks[lanes];
    __builtin_memcpy(values, &result, bytes);
    __builtin_memcpy(marks, &failed, bytes);
    for (size_t lane = 0; lane < lanes; ++lane) {
        if (marks[lane] == 0) continue;
        values[lane] = static_cast<Unit>(sum_numbers_exactly(Kernel::dtype, places.inputs, number,
                                                             places.at + lane * sizeof(Unit)));
    }
    __builtin_memcpy(&result, values, bytes);
    return result;
}

// Numbers that become doubles without loss.
template <typename Format>
struct NarrowSum {
    using Unit = typename Format::Unit;
    static constexpr tutti_dtype dtype = Format::dtype;
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
            if (is_beyond) return sum_of_any_size<NarrowSum, bytes>(places, number);
        }
        return Format::template rounded<bytes>(sums);
    }

    template <typename Sum, size_t bytes, typename Places>
    static Attempt<bytes> attempt(Places places, size_t number) {
        const auto first = Format::template read<bytes>(places[0]);
        Sum sums[parts][2];
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
            const auto low = bounds_of<bytes>(sums[part][0].bounded());
            const auto high = bounds_of<bytes>(sums[part][1].bounded());
            below[part] = {low.below, high.below};
            above[part] = {low.above, high.above};
        }
        const auto result = Format::template rounded<bytes>(below);
        return {result, result ^ Format::template rounded<bytes>(above)};
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
};

struct WideSum {
    using Unit = uint64_t;
    static constexpr tutti_dtype dtype = TUTTI_FLOAT64;

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
        if (any<bytes>(as<Raw<bytes>>(lost)))
            return sum_of_any_size<WideSum, bytes>(places, number);
        return as<Raw<bytes>>(result);
    }

    template <typename Sum, size_t bytes, typename Places>
    static Attempt<bytes> attempt(Places places, size_t number) {
        using Vector = Doubles<bytes>;
        Sum all{load<Vector>(places[0])};
        for (size_t i = 1; i < number; ++i) all.add(load<Vector>(places[i]));
        const auto sum = all.bounded();
        const auto [x, rest] = sum.normalised();
        const auto margin = magnitude_of<bytes>(rest) * (1 + 0x1p-50) + 2 * sum.missing;
        const auto decided = (sum.missing == 0) | ((x + margin == x) & (x - margin == x));
        return {as<Raw<bytes>>(x), as<Raw<bytes>>(~(decided & (x - x == 0)))};
    }
};

}  // namespace
}  // namespace tutti
