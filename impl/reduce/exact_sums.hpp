// Sums of more inputs than the kernels take: inputs are added one by one, in any order, and what
// is rounded at the end has the bits that sum_exactly() gives for all at once. Owned by one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "superaccumulator.hpp"
#include "tutti/types.h"

namespace tutti {

class ExactSums {
public:
    // The sum of nothing yet. The dtype is of floating point or complex. Numbers of hostile sizes
    // take 0.6 KiB each, so work a piece at a time.
    ExactSums(size_t count, tutti_dtype dtype);

    // Adds `count` elements; any alignment.
    void add(const void* input);

    // Rounds to nearest even. Of no inputs the sum is -0.
    void round(void* out) const;

private:
    void add_to(size_t number, double value);
    [[nodiscard]] uint64_t rounded(size_t number) const;

    tutti_dtype format_;
    size_t numbers_;
    size_t leading_per_number_;
    std::vector<double> leading_;
    // The parts that the leading doubles do not hold. Not asked for a number whose first double is
    // not finite: that is the sum, whatever else was added.
    std::map<size_t, Superaccumulator> rest_;
};

}  // namespace tutti
