// The correctly rounded sum by an integer of a few thousand bits, and numbers of the kinds that
// such sums go wrong with. An element travels as its bits, a complex number as two. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "samples.hpp"

namespace tutti::test {

// The sum of numbers of that format: to nearest even; every NaN is the positive quiet one.
uint64_t exact_sum(Format format, const std::vector<uint64_t>& addends);

// Element by element.
Elements exact_sums_of(tutti_dtype dtype, const std::vector<Elements>& inputs);

enum class Kind {
    Normal,
    Wide,
    FullRange,
    Cancelling,
    Subnormal,
    Ties,
    NearTies,
    Huge,
    Special,
    Zeros
};
constexpr Kind all_kinds[] = {Kind::Normal,    Kind::Wide, Kind::FullRange, Kind::Cancelling,
                              Kind::Subnormal, Kind::Ties, Kind::NearTies,  Kind::Huge,
                              Kind::Special,   Kind::Zeros};
const char* name_of(Kind kind);

// `number` inputs of `count` elements each.
std::vector<Elements> inputs_of(Kind kind, tutti_dtype dtype, size_t number, size_t count);

}  // namespace tutti::test
