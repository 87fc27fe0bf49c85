// The exact sum of any doubles: one integer, wide enough for all of them, in digits that are
// carried only when the sum is read. Plain data, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti {

class Superaccumulator {
public:
    // There is room for 2^30 of them.
    void add(double finite);

    // To nearest, ties to even, or to infinity; +0 if the sum is zero.
    [[nodiscard]] double rounded() const;
    // To the neighbour whose last bit is 1, if the sum is no double: rounded again to a format of
    // at least two bits less, it is the sum rounded once. The sum must be less than 2^1023.
    [[nodiscard]] double rounded_to_odd() const;

private:
    // A digit at a position counts 2^(32 * position - 1074), from -digit_limit to less than
    // digit_limit when it is carried.
    static constexpr int positions = 68;
    static constexpr int64_t digit_limit = int64_t{1} << 31;
    [[nodiscard]] std::array<int64_t, positions> carried() const;

    // The upper 64 bits of the magnitude, the lowest of which tells whether there are more below.
    struct Leading {
        bool is_negative;
        uint64_t bits;
        int exponent;
    };
    [[nodiscard]] Leading leading() const;

    // Where digits may be other than 0, when they are carried too.
    [[nodiscard]] size_t carried_end() const;
    void touch(size_t first, size_t end);

    std::array<int64_t, positions> digits_{};
    size_t begin_ = positions;
    size_t end_ = 0;
};

}  // namespace tutti
