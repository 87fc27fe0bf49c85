// Elements of every dtype, so small that every result is exact whatever the order of adding, and
// what one rank alone would make of those of all ranks.
#pragma once

#include <algorithm>
#include <cstring>

#include "patterns.hpp"
#include "reduce/reduce.hpp"

namespace tutti::test {

// Small enough that all sums are exact; the same again after so many.
constexpr size_t period = 11;
constexpr int32_t value(int rank, size_t index) {
    return static_cast<int32_t>((static_cast<uint32_t>(rank) * 7 + static_cast<uint32_t>(index)) %
                                period) -
           5;
}

// A row whose first period is made: the rest of it, copied. To make each element of millions would
// take a sanitizer seconds.
template <typename Element>
void repeat(std::vector<Element>& row, size_t made) {
    while (made > 0 && made < row.size()) {
        const size_t more = std::min(made, row.size() - made);
        std::memcpy(row.data() + made, row.data(), more * sizeof(Element));
        made += more;
    }
}

// 0, 1, 2 or 3 as an element of this dtype.
inline void put(std::byte* at, tutti_dtype dtype, uint32_t number) {
    constexpr uint16_t halves[] = {0x0000, 0x3C00, 0x4000, 0x4200};
    constexpr uint16_t brains[] = {0x0000, 0x3F80, 0x4000, 0x4040};
    const size_t bytes = element_size(dtype);
    const auto as = [at](auto typed) { std::memcpy(at, &typed, sizeof typed); };
    std::memset(at, 0, bytes);
    switch (dtype) {
        case TUTTI_FLOAT16:
            return as(halves[number]);
        case TUTTI_BFLOAT16:
            return as(brains[number]);
        case TUTTI_FLOAT32:
            return as(static_cast<float>(number));
        case TUTTI_FLOAT64:
            return as(static_cast<double>(number));
        case TUTTI_COMPLEX64:
            put(at, TUTTI_FLOAT32, number);
            return put(at + bytes / 2, TUTTI_FLOAT32, 3 - number);
        case TUTTI_COMPLEX128:
            put(at, TUTTI_FLOAT64, number);
            return put(at + bytes / 2, TUTTI_FLOAT64, 3 - number);
        default:
            std::memcpy(at, &number, std::min<size_t>(bytes, sizeof number));
    }
}

inline Buffer elements(int rank, size_t count, tutti_dtype dtype, tutti_reduce_op op) {
    const size_t bytes = element_size(dtype);
    Buffer numbers(4 * bytes);
    for (uint32_t number = 0; number < 4; ++number) {
        // Products stay within what float16 holds exactly.
        put(numbers.data() + number * bytes, dtype, op == TUTTI_PRODUCT ? 1 + number % 2 : number);
    }
    Buffer data(count * bytes);
    const size_t made = std::min(count, period);
    for (size_t index = 0; index < made; ++index) {
        const size_t which = static_cast<size_t>(value(rank, index) + 5) % 4;
        std::memcpy(data.data() + index * bytes, numbers.data() + which * bytes, bytes);
    }
    repeat(data, made * bytes);
    return data;
}

// One rank after the other, as one processor would.
inline Buffer reference(int size, size_t count, tutti_dtype dtype, tutti_reduce_op op) {
    Buffer result = elements(0, count, dtype, op);
    for (int rank = 1; rank < size; ++rank) {
        reduce_into(result.data(), elements(rank, count, dtype, op).data(), count, dtype, op);
    }
    if (op == TUTTI_AVG) divide_by(result.data(), count, dtype, size);
    return result;
}

}  // namespace tutti::test
