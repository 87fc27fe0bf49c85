// Sums that are not rounded yet and can travel: each rank or host adds what it has, the parts are
// merged anywhere and in any order, and whoever rounds gets the bits that sum_exactly() gives for
// all inputs at once. Owned by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "superaccumulator.hpp"
#include "tutti/types.h"

namespace tutti {

class ExactSums {
public:
    // Of nothing yet. The dtype is of floating point or complex; most_numbers at once, a complex
    // element being two. Numbers of hostile sizes take 0.6 KiB each, so work a piece at a time.
    static constexpr size_t most_numbers = size_t{1} << 25;
    ExactSums(size_t count, tutti_dtype dtype);

    // Adds `count` elements; any alignment.
    void add(const void* input);

    // Adds what another one with the same count and dtype had. BACKEND, and sums that are good for
    // nothing, if it is malformed.
    void merge(std::span<const std::byte> encoded);

    // For each number its leading doubles (two of a float64, else one), whose sum it is if numbers
    // of like size were added; then, for those where that is not all, 8 bytes for each further
    // digit: as a 32-bit word the number's index times 128 plus the position, and the digit as a
    // signed 32-bit word. Bytes in the machine's order.
    [[nodiscard]] std::vector<std::byte> encoded() const;

    // What encoded() takes at least, for numbers of like size exactly; and at most.
    static size_t smallest_encoding(size_t count, tutti_dtype dtype);
    static size_t largest_encoding(size_t count, tutti_dtype dtype);

    // Rounds to nearest even. Of no inputs the sum is -0.
    void round(void* out) const;

private:
    void add_to(size_t number, double value);
    [[nodiscard]] uint64_t rounded(size_t number) const;

    tutti_dtype format_;
    size_t numbers_;
    size_t leading_per_number_;
    std::vector<double> leading_;
    // What the leading doubles do not hold. Not asked for a number whose first one is no finite
    // number: that is the sum, whatever else was added.
    std::map<size_t, Superaccumulator> rest_;
};

}  // namespace tutti
