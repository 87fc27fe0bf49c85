// See exact_numbers.hpp. The conversions are the kernels' own, of the baseline. Any thread.
#include "exact_numbers.hpp"

#include <bit>
#include <cmath>

#include "base/assert.hpp"
#include "exact_formats.hpp"

namespace tutti {

namespace {

// In every lane, so that it does not matter which becomes which.
template <typename Format>
double widened(const void* place) {
    const auto one = load<typename Format::Unit>(static_cast<const uint8_t*>(place));
    const Lanes<typename Format::Unit, narrowest> lanes =
        Lanes<typename Format::Unit, narrowest>{} + one;
    return Format::template read<narrowest>(reinterpret_cast<const uint8_t*>(&lanes))
        .doubles[0]
        .low[0];
}

template <typename Format>
uint64_t narrowed(double sum) {
    const auto lanes = Doubles<narrowest>{sum, sum};
    const DoublePair<narrowest> doubles[] = {{lanes, lanes}, {lanes, lanes}};
    const auto numbers = Format::template rounded<narrowest>(doubles);
    return as<Lanes<typename Format::Unit, narrowest>>(numbers)[0];
}

}  // namespace

Numbers numbers_of(tutti_dtype dtype) {
    if (dtype == TUTTI_COMPLEX64) return {TUTTI_FLOAT32, 2};
    if (dtype == TUTTI_COMPLEX128) return {TUTTI_FLOAT64, 2};
    const bool is_real = dtype == TUTTI_FLOAT16 || dtype == TUTTI_BFLOAT16 ||
                         dtype == TUTTI_FLOAT32 || dtype == TUTTI_FLOAT64;
    return {dtype, is_real ? 1 : 0};
}

double number_at(tutti_dtype format, const void* place) {
    if (format == TUTTI_FLOAT64) return load<double>(static_cast<const uint8_t*>(place));
    if (format == TUTTI_FLOAT32) return load<float>(static_cast<const uint8_t*>(place));
    if (format == TUTTI_BFLOAT16) return widened<ExactBFloat16>(place);
    TUTTI_ASSERT(format == TUTTI_FLOAT16);
    return widened<ExactFloat16>(place);
}

uint64_t bits_of(tutti_dtype format, double sum) {
    if (format == TUTTI_FLOAT64) {
        return std::bit_cast<uint64_t>(std::isnan(sum) ? std::bit_cast<double>(Float64::nan) : sum);
    }
    if (format == TUTTI_FLOAT32) return narrowed<ExactFloat32>(sum);
    if (format == TUTTI_BFLOAT16) return narrowed<ExactBFloat16>(sum);
    TUTTI_ASSERT(format == TUTTI_FLOAT16);
    return narrowed<ExactFloat16>(sum);
}

uint64_t bits_of(tutti_dtype format, const Superaccumulator& sum) {
    return bits_of(format, format == TUTTI_FLOAT64 ? sum.rounded() : sum.rounded_to_odd());
}

uint64_t sum_numbers_exactly(tutti_dtype format, const void* const* inputs, size_t number,
                             size_t offset) {
    Superaccumulator sum;
    double not_finite = 0;
    bool is_negative_zero = true;
    for (size_t i = 0; i < number; ++i) {
        const double next = number_at(format, static_cast<const uint8_t*>(inputs[i]) + offset);
        if (std::isfinite(next)) {
            sum.add(next);
        } else {
            not_finite += next;
        }
        is_negative_zero = is_negative_zero && next == 0 && std::signbit(next);
    }
    if (not_finite != 0) return bits_of(format, not_finite);
    return is_negative_zero ? bits_of(format, -0.0) : bits_of(format, sum);
}

}  // namespace tutti
