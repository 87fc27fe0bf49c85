// Doubles with their errors, and what those lose as integers; see exact_sums.hpp. Owned by one
// thread at a time.
#include "exact_sums.hpp"

#include <cmath>
#include <cstring>

#include "base/assert.hpp"
#include "exact_numbers.hpp"
#include "reduce.hpp"

namespace tutti {

namespace {

size_t leading_of(tutti_dtype format) {
    return format == TUTTI_FLOAT64 ? 2 : 1;
}

// a becomes a + b rounded, what is returned is the rest; or NaN, which does not say that the sum is
// too large: the largest double and -1.5 of its last places have one.
double add_and_keep(double& a, double b) {
    const double sum = a + b;
    const double b_in_it = sum - a;
    const double error = (a - (sum - b_in_it)) + (b - b_in_it);
    a = sum;
    return error;
}

}  // namespace

ExactSums::ExactSums(size_t count, tutti_dtype dtype)
    : format_(numbers_of(dtype).format),
      numbers_(count * static_cast<size_t>(numbers_of(dtype).parts)),
      leading_per_number_(leading_of(format_)),
      leading_(numbers_ * leading_per_number_, 0.0) {
    TUTTI_ASSERT(numbers_of(dtype).parts > 0);
    // The one number that changes no other.
    for (size_t i = 0; i < numbers_; ++i) leading_[i * leading_per_number_] = -0.0;
}

void ExactSums::add(const void* input) {
    const size_t size = element_size(format_);
    for (size_t i = 0; i < numbers_; ++i) {
        add_to(i, number_at(format_, static_cast<const std::byte*>(input) + i * size));
    }
}

void ExactSums::add_to(size_t number, double value) {
    double* const leading = &leading_[number * leading_per_number_];
    if (!std::isfinite(leading[0]) || !std::isfinite(value)) {
        if (std::isfinite(leading[0])) leading[0] = 0;
        if (!std::isfinite(value)) leading[0] += value;
        return;
    }
    double whole = leading[0];
    double lost = add_and_keep(whole, value);
    if (!std::isfinite(lost)) {
        // The sum is too large for a double, which others may make good, or what its error is
        // calculated from is.
        Superaccumulator& rest = rest_[number];
        rest.add(leading[0]);
        rest.add(value);
        leading[0] = 0;
        return;
    }
    leading[0] = whole;
    if (leading_per_number_ > 1 && lost != 0) lost = add_and_keep(leading[1], lost);
    if (lost != 0) rest_[number].add(lost);
}

uint64_t ExactSums::rounded(size_t number) const {
    const double* const leading = &leading_[number * leading_per_number_];
    const double second = leading_per_number_ > 1 ? leading[1] : 0;
    const auto rest = rest_.find(number);
    if (rest == rest_.end() || !std::isfinite(leading[0])) {
        const bool is_all = second == 0 || !std::isfinite(leading[0]);
        return bits_of(format_, is_all ? leading[0] : leading[0] + second);
    }
    Superaccumulator sum = rest->second;
    sum.add(leading[0]);
    sum.add(second);
    return bits_of(format_, sum);
}

void ExactSums::round(void* out) const {
    const size_t size = element_size(format_);
    for (size_t i = 0; i < numbers_; ++i) {
        const uint64_t bits = rounded(i);
        auto* const place = static_cast<std::byte*>(out) + i * size;
        if (size == sizeof(uint16_t)) {
            const auto narrow = static_cast<uint16_t>(bits);
            std::memcpy(place, &narrow, size);
        } else if (size == sizeof(uint32_t)) {
            const auto middle = static_cast<uint32_t>(bits);
            std::memcpy(place, &middle, size);
        } else {
            std::memcpy(place, &bits, size);
        }
    }
}

}  // namespace tutti
