// Integer arithmetic on the digits; see superaccumulator.hpp. Any thread.
#include "superaccumulator.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>

#include "base/assert.hpp"

namespace tutti {

// The sums with errors would not be exact where doubles are calculated in more bits than they have.
static_assert(FLT_EVAL_METHOD == 0, "doubles must be calculated as doubles (-mfpmath=sse)");

namespace {

constexpr int digit_bits = 32;
constexpr uint64_t digit_mask = (uint64_t{1} << digit_bits) - 1;
constexpr int mantissa_bits = 52;
constexpr uint64_t mantissa_mask = (uint64_t{1} << mantissa_bits) - 1;
constexpr uint64_t exponent_mask = 0x7ff;
constexpr int smallest_exponent = -1074;

}  // namespace

void Superaccumulator::add(double finite) {
    const auto bits = std::bit_cast<uint64_t>(finite);
    const uint64_t exponent = (bits >> mantissa_bits) & exponent_mask;
    TUTTI_ASSERT(exponent != exponent_mask);
    uint64_t mantissa = bits & mantissa_mask;
    uint64_t shift = 0;
    if (exponent != 0) {
        mantissa |= uint64_t{1} << mantissa_bits;
        shift = exponent - 1;
    }
    if (mantissa == 0) return;
    const size_t first = shift / digit_bits;
    int64_t* const digit = &digits_[first];
    const uint64_t within = shift % digit_bits;
    const uint64_t low = (mantissa & digit_mask) << within;
    const uint64_t high = ((mantissa >> digit_bits) << within) + (low >> digit_bits);
    const int64_t sign = static_cast<int64_t>(bits) < 0 ? -1 : 1;
    digit[0] += sign * static_cast<int64_t>(low & digit_mask);
    digit[1] += sign * static_cast<int64_t>(high & digit_mask);
    digit[2] += sign * static_cast<int64_t>(high >> digit_bits);
    touch(first, first + 3);
}

void Superaccumulator::touch(size_t first, size_t end) {
    begin_ = std::min(begin_, first);
    end_ = std::max(end_, end);
}

size_t Superaccumulator::carried_end() const {
    return std::min<size_t>(end_ + 1, positions);
}

std::array<int64_t, Superaccumulator::positions> Superaccumulator::carried() const {
    std::array<int64_t, positions> digits{};
    int64_t carry = 0;
    for (size_t i = begin_; i < carried_end(); ++i) {
        const int64_t digit = digits_[i] + carry;
        carry = (digit + digit_limit) >> digit_bits;
        digits[i] = digit - carry * (int64_t{1} << digit_bits);
    }
    TUTTI_ASSERT(carry == 0);
    return digits;
}

Superaccumulator::Leading Superaccumulator::leading() const {
    std::array<int64_t, positions> magnitude = carried();
    size_t top = carried_end();
    while (top > begin_ && magnitude[top - 1] == 0) --top;
    if (top <= begin_) return {false, 0, 0};
    const bool is_negative = magnitude[top - 1] < 0;
    int64_t carry = 0;
    for (size_t i = begin_; i < top; ++i) {
        const int64_t digit = (is_negative ? -magnitude[i] : magnitude[i]) + carry;
        carry = digit >> digit_bits;
        magnitude[i] = static_cast<int64_t>(static_cast<uint64_t>(digit) & digit_mask);
    }
    while (magnitude[top - 1] == 0) --top;  // it may have lent the last it had
    const auto digit_at = [&](size_t below_top) {
        return below_top <= top ? static_cast<uint64_t>(magnitude[top - below_top]) : 0;
    };
    const int unused = std::countl_zero(static_cast<uint32_t>(digit_at(1)));
    const uint64_t third = digit_at(3) << unused;
    const uint64_t bits =
        (((digit_at(1) << digit_bits) | digit_at(2)) << unused) | (third >> digit_bits);
    bool is_more = (third & digit_mask) != 0;
    for (size_t i = 4; i <= top - begin_ && !is_more; ++i) is_more = digit_at(i) != 0;
    const int exponent = digit_bits * (static_cast<int>(top) - 2) - unused + smallest_exponent;
    return {is_negative, bits | uint64_t{is_more}, exponent};
}

double Superaccumulator::rounded() const {
    const Leading sum = leading();
    // Rounded by the conversion; the rest is exact, for nothing is below the smallest double.
    const double magnitude = std::ldexp(static_cast<double>(sum.bits), sum.exponent);
    return sum.is_negative ? -magnitude : magnitude;
}

double Superaccumulator::rounded_to_odd() const {
    constexpr int dropped = 64 - mantissa_bits - 1;
    const Leading sum = leading();
    const uint64_t is_more = (sum.bits & ((uint64_t{1} << dropped) - 1)) != 0;
    const auto kept = static_cast<double>((sum.bits >> dropped) | is_more);
    const double magnitude = std::ldexp(kept, sum.exponent + dropped);
    return sum.is_negative ? -magnitude : magnitude;
}

}  // namespace tutti
