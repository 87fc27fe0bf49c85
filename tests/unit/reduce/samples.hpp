// The common part of the tests of reductions: random and awkward numbers as bits, memory that
// notices what is written beside it, and the comparison. One thread. TUTTI_TEST_SEED repeats a run.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "reduce/dispatch.hpp"
#include "reduce/reduce.hpp"
#include "reference.hpp"
#include "support/seed.h"
#include "support/unit.hpp"

namespace tutti::test {

using Elements = std::vector<uint64_t>;  // the bits of each; two for a complex number

inline std::mt19937_64& random_bits() {
    static std::mt19937_64 generator = [] {
        const uint32_t seed = test_seed();
        print_message("TUTTI_TEST_SEED=%u\n", seed);
        return std::mt19937_64(seed);
    }();
    return generator;
}

inline uint64_t random_below(uint64_t limit) {
    return random_bits()() % limit;
}

// The values around which things go wrong.
inline Elements special_values(tutti_dtype dtype) {
    const Element element = element_of(dtype);
    const uint64_t sign = uint64_t{1} << (element.bits - 1);
    if (element.kind == Element::Bool) return {0, 1, 2, 0x80, 0xff};
    if (element.kind != Element::Floating) {
        return {0, 1, 2, sign - 1, sign, sign + 1, sign + (sign - 1)};
    }
    const uint64_t smallest_normal = uint64_t{1} << element.format.mantissa_bits;
    const uint64_t infinity = sign - smallest_normal;
    const uint64_t one = (infinity + smallest_normal) / 2 - smallest_normal;
    Elements values = {0,
                       1,
                       smallest_normal - 1,
                       smallest_normal,
                       one,
                       one + 1,
                       one + 2 * smallest_normal,
                       infinity - 1,
                       infinity,
                       infinity + 1,                    // signalling
                       infinity + smallest_normal / 2,  // quiet
                       sign - 1};
    const size_t positive = values.size();
    for (size_t i = 0; i < positive; ++i) values.push_back(values[i] + sign);
    return values;
}

inline uint64_t random_element(tutti_dtype dtype, const Elements& special) {
    const Element element = element_of(dtype);
    const uint64_t bits = random_bits()() >> (64 - element.bits);
    const uint64_t kind = random_below(4);
    if (kind == 0) return special[random_below(special.size())];
    if (kind == 1 || element.kind != Element::Floating) return bits;
    // Exponents near that of 1, where sums cancel, round and tie.
    const int mantissa_bits = element.format.mantissa_bits;
    const uint64_t bias = (uint64_t{1} << (element.format.exponent_bits - 1)) - 1;
    const uint64_t exponent = bias - 6 + random_below(12);
    const uint64_t mantissa = bits % (uint64_t{1} << mantissa_bits);
    const uint64_t sign = random_below(2) << (element.bits - 1);
    return sign + (exponent << mantissa_bits) + mantissa;
}

inline Elements random_elements(tutti_dtype dtype, size_t count) {
    const Elements special = special_values(dtype);
    Elements elements(count * static_cast<size_t>(parts_of(dtype)));
    for (uint64_t& element : elements) element = random_element(dtype, special);
    return elements;
}

// Elements in memory, `shift` bytes beyond a well aligned address, with guards around them.
class Memory {
public:
    Memory(tutti_dtype dtype, const Elements& elements, size_t shift)
        : size_(static_cast<size_t>(element_of(dtype).bits) / 8),
          start_(guard_size + shift),
          bytes_(start_ + elements.size() * size_ + guard_size, guard) {
        for (size_t i = 0; i < elements.size(); ++i) {
            std::memcpy(data() + i * size_, reinterpret_cast<const char*>(&elements[i]) + skipped(),
                        size_);
        }
    }

    [[nodiscard]] unsigned char* data() { return bytes_.data() + start_; }

    [[nodiscard]] Elements elements() {
        Elements result((bytes_.size() - start_ - guard_size) / size_);
        for (size_t i = 0; i < result.size(); ++i) {
            std::memcpy(reinterpret_cast<char*>(&result[i]) + skipped(), data() + i * size_, size_);
        }
        return result;
    }

    [[nodiscard]] bool guards_stand() const {
        const auto untouched = [](unsigned char byte) { return byte == guard; };
        const auto start = bytes_.begin() + static_cast<std::ptrdiff_t>(start_);
        return std::all_of(bytes_.begin(), start, untouched) &&
               std::all_of(bytes_.end() - guard_size, bytes_.end(), untouched);
    }

private:
    static constexpr unsigned char guard = 0xa5;
    static constexpr size_t guard_size = 64;

    // Where in a uint64_t the bits are.
    [[nodiscard]] size_t skipped() const {
        return std::endian::native == std::endian::big ? sizeof(uint64_t) - size_ : 0;
    }

    size_t size_;
    size_t start_;
    std::vector<unsigned char> bytes_;
};

inline std::vector<const void*> places_of(std::vector<Memory>& memories) {
    std::vector<const void*> places;
    for (Memory& memory : memories) places.push_back(memory.data());
    return places;
}

// Instruction sets that this processor can run.
inline std::vector<CpuLevel> levels() {
    std::vector<CpuLevel> here;
    for (const auto level : {CpuLevel::Baseline, CpuLevel::Avx2, CpuLevel::Avx512}) {
        if (level <= best_cpu_level()) here.push_back(level);
    }
    return here;
}

template <typename Visit>
void for_each_reduction(Visit visit) {
    for (tutti_dtype dtype = 0; dtype < dtype_count; ++dtype) {
        for (tutti_reduce_op op = 0; op < reduce_op_count; ++op) {
            if (expected_to_be_reducible(dtype, op)) visit(dtype, op);
        }
    }
}

inline Elements expected_of(tutti_dtype dtype, tutti_reduce_op op, const Elements& a,
                            const Elements& b) {
    Elements expected(a.size());
    for (size_t i = 0; i < a.size(); ++i) expected[i] = reference(dtype, op, a[i], b[i]);
    return expected;
}

inline void expect_elements(Memory& memory, const Elements& expected, tutti_dtype dtype,
                            const char* what, CpuLevel level) {
    const Elements got = memory.elements();
    for (size_t i = 0; i < expected.size(); ++i) {
        if (got[i] == expected[i]) continue;
        fail_msg("%s %s at level %d: element %zu of %zu is %#llx, not %#llx", dtype_name(dtype),
                 what, static_cast<int>(level), i, expected.size(),
                 static_cast<unsigned long long>(got[i]),
                 static_cast<unsigned long long>(expected[i]));
    }
    if (!memory.guards_stand()) {
        fail_msg("%s %s at level %d wrote beside %zu elements", dtype_name(dtype), what,
                 static_cast<int>(level), expected.size());
    }
}

}  // namespace tutti::test
