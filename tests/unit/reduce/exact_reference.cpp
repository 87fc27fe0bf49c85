// The slow way; see exact_reference.hpp. One thread.
#include "exact_reference.hpp"

#include <array>

namespace tutti::test {

namespace {

// In units of the format's smallest number, in two's complement.
class Integer {
public:
    void add(uint64_t mantissa, uint64_t shift, bool is_negative) {
        std::array<uint64_t, limbs> addend{};
        for (uint64_t bit = 0; bit < 64; ++bit) {
            if ((mantissa >> bit & 1) == 0) continue;
            addend[(bit + shift) / 64] |= uint64_t{1} << (bit + shift) % 64;
        }
        if (is_negative) negate(addend);
        uint64_t carry = 0;
        for (size_t i = 0; i < limbs; ++i) {
            const auto sum = static_cast<unsigned __int128>(limbs_[i]) + addend[i] + carry;
            limbs_[i] = static_cast<uint64_t>(sum);
            carry = static_cast<uint64_t>(sum >> 64);
        }
    }

    // Returns whether it was negative.
    bool take_magnitude() {
        const bool is_negative = limbs_[limbs - 1] >> 63 != 0;
        if (is_negative) negate(limbs_);
        return is_negative;
    }

    [[nodiscard]] bool bit(int at) const {
        const auto place = static_cast<size_t>(at);
        return (limbs_[place / 64] >> place % 64 & 1) != 0;
    }

    [[nodiscard]] int top_bit() const {  // -1 of zero
        int at = static_cast<int>(limbs) * 64 - 1;
        while (at >= 0 && !bit(at)) --at;
        return at;
    }

private:
    static constexpr size_t limbs = 36;

    static void negate(std::array<uint64_t, limbs>& number) {
        bool carry = true;
        for (uint64_t& limb : number) {
            limb = ~limb + (carry ? 1 : 0);
            carry = carry && limb == 0;
        }
    }

    std::array<uint64_t, limbs> limbs_{};
};

uint64_t rounded(const Integer& magnitude, Format format) {
    const int top = magnitude.top_bit();
    const int dropped = std::max(0, top - format.mantissa_bits);
    uint64_t kept = 0;
    for (int bit = top; bit >= dropped; --bit) kept = 2 * kept + (magnitude.bit(bit) ? 1 : 0);
    bool is_half = dropped > 0 && magnitude.bit(dropped - 1);
    bool is_more = false;
    for (int bit = 0; bit < dropped - 1; ++bit) is_more = is_more || magnitude.bit(bit);
    if (is_half && (is_more || kept % 2 == 1)) ++kept;
    // The leading bit counts as the first exponent, and a carry as one more.
    const uint64_t bits = kept + (static_cast<uint64_t>(dropped) << format.mantissa_bits);
    const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
    return std::min(bits, infinity);
}

uint64_t random_number(Format format, uint64_t first_exponent, uint64_t exponents) {
    const uint64_t mantissa = random_bits()() >> (64 - format.mantissa_bits);
    const uint64_t sign = random_below(2) << (format.exponent_bits + format.mantissa_bits);
    return sign + ((first_exponent + random_below(exponents)) << format.mantissa_bits) + mantissa;
}

// Mantissas of few bits, as far apart as the format is wide: halves of last places.
uint64_t random_tie(Format format, uint64_t one) {
    const auto width = static_cast<uint64_t>(format.mantissa_bits);
    const uint64_t steps[] = {0, 1, width - 1, width, width + 1, width + 2, 2 * width + 2, 53};
    const uint64_t step = std::min(steps[random_below(std::size(steps))], one - 1);
    const uint64_t all = (uint64_t{1} << width) - 1;
    const uint64_t mantissas[] = {0, 0, 0, 1, all, uint64_t{1} << (width - 1)};
    const uint64_t sign = random_below(2) << (format.exponent_bits + format.mantissa_bits);
    return sign + ((one - step) << width) + mantissas[random_below(std::size(mantissas))];
}

uint64_t number_of(Kind kind, tutti_dtype dtype) {
    const Format format = element_of(dtype).format;
    const uint64_t largest = (uint64_t{1} << format.exponent_bits) - 2;
    const uint64_t one = largest / 2;
    if (kind == Kind::Normal) return random_number(format, one - 3, 6);
    if (kind == Kind::Wide) {
        const uint64_t reach = std::min<uint64_t>(30, one);
        return random_number(format, one - reach, 2 * reach + 1);
    }
    if (kind == Kind::Subnormal) return random_number(format, 0, 2);
    if (kind == Kind::Ties) return random_tie(format, one);
    if (kind == Kind::Huge) return random_number(format, largest - 1, 2);
    if (kind == Kind::Special) {
        if (random_below(30) != 0) return random_number(format, one - 3, 6);
        const Elements special = special_values(dtype);
        return special[random_below(special.size())];
    }
    if (kind == Kind::Zeros) {
        const uint64_t sign = uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
        return random_below(8) == 0 ? 0 : sign;
    }
    return random_number(format, 0, largest + 1);
}

// Half of a last place, and what decides it far below: two numbers that are not quite opposite.
void fill_near_tie(std::vector<Elements>& inputs, size_t at, Format format) {
    const auto width = static_cast<uint64_t>(format.mantissa_bits);
    const uint64_t sign = uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
    const uint64_t largest = (uint64_t{1} << format.exponent_bits) - 2;
    const uint64_t exponent = largest - random_below((largest - 1) / 2);
    const uint64_t half = std::max<uint64_t>(exponent, width + 2) - width - 1;
    const uint64_t below = 1 + random_below(2 * width + 10);
    const uint64_t decider = half > below ? half - below : 1;
    const uint64_t signs[] = {random_below(2) * sign, random_below(2) * sign};
    const uint64_t numbers[] = {random_number(format, exponent, 1) % sign + signs[0],
                                (half << width) + signs[0], (decider << width) + 1 + signs[1],
                                (decider << width) + (sign - signs[1])};
    for (size_t i = 0; i < std::min(inputs.size(), std::size(numbers)); ++i) {
        inputs[i][at] = numbers[i];
    }
}

}  // namespace

const char* name_of(Kind kind) {
    constexpr const char* names[] = {"normal", "wide",      "full range", "cancelling", "subnormal",
                                     "ties",   "near ties", "huge",       "special",    "zeros"};
    return names[static_cast<size_t>(kind)];
}

uint64_t exact_sum(Format format, const std::vector<uint64_t>& addends) {
    const auto mantissa_bits = static_cast<uint64_t>(format.mantissa_bits);
    const uint64_t largest = (uint64_t{1} << format.exponent_bits) - 1;
    const uint64_t sign = uint64_t{1}
                          << (mantissa_bits + static_cast<uint64_t>(format.exponent_bits));
    const uint64_t infinity = largest << mantissa_bits;
    Integer sum;
    bool has_nan = false;
    bool has_plus = false;
    bool has_minus = false;
    bool is_minus_zero = true;
    for (const uint64_t addend : addends) {
        const bool is_negative = (addend & sign) != 0;
        const uint64_t magnitude = addend % sign;
        is_minus_zero = is_minus_zero && addend == sign;
        if (magnitude > infinity) has_nan = true;
        if (magnitude == infinity) (is_negative ? has_minus : has_plus) = true;
        if (magnitude >= infinity) continue;
        const uint64_t exponent = magnitude >> mantissa_bits;
        const uint64_t leading = exponent == 0 ? 0 : uint64_t{1} << mantissa_bits;
        sum.add(magnitude % (uint64_t{1} << mantissa_bits) + leading,
                exponent == 0 ? 0 : exponent - 1, is_negative);
    }
    if (has_nan || (has_plus && has_minus)) return infinity + (uint64_t{1} << (mantissa_bits - 1));
    if (has_plus || has_minus) return infinity + (has_minus ? sign : 0);
    if (is_minus_zero) return sign;
    const bool is_negative = sum.take_magnitude();
    return rounded(sum, format) + (is_negative ? sign : 0);
}

Elements exact_sums_of(tutti_dtype dtype, const std::vector<Elements>& inputs) {
    Elements sums;
    for (size_t i = 0; i < inputs[0].size(); ++i) {
        std::vector<uint64_t> addends;
        for (const Elements& input : inputs) addends.push_back(input[i]);
        sums.push_back(exact_sum(element_of(dtype).format, addends));
    }
    return sums;
}

std::vector<Elements> inputs_of(Kind kind, tutti_dtype dtype, size_t number, size_t count) {
    const size_t numbers = count * static_cast<size_t>(parts_of(dtype));
    const Format format = element_of(dtype).format;
    const uint64_t sign = uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
    std::vector<Elements> inputs(number, Elements(numbers));
    for (size_t at = 0; at < numbers; ++at) {
        if (kind == Kind::NearTies) {
            fill_near_tie(inputs, at, format);
            continue;
        }
        for (Elements& input : inputs) input[at] = number_of(kind, dtype);
        if (kind != Kind::Cancelling) continue;
        // All but one or two have their opposites.
        const size_t without = random_below(3);
        for (size_t i = 0; 2 * i + 1 + without < number; ++i) {
            inputs[2 * i + 1][at] = inputs[2 * i][at] ^ sign;
        }
    }
    std::shuffle(inputs.begin(), inputs.end(), random_bits());
    return inputs;
}

}  // namespace tutti::test
