// Elements of every dtype, so small that every result is exact whatever the order of adding, and
// what one rank alone would make of those of all ranks.
#pragma once

#include <algorithm>
#include <cstring>

#include "patterns.hpp"
#include "reduce/reduce.hpp"

namespace tutti::test {

// Small enough that all sums are exact.
UNWATCHED constexpr int32_t value(int rank, size_t index) {
    return static_cast<int32_t>((static_cast<uint32_t>(rank) * 7 + static_cast<uint32_t>(index)) %
                                11) -
           5;
}

// 0, 1, 2 and 3 as elements of this dtype, one after the other.
inline Buffer smallest(tutti_dtype dtype) {
    constexpr uint16_t halves[] = {0x0000, 0x3C00, 0x4000, 0x4200};
    constexpr uint16_t brains[] = {0x0000, 0x3F80, 0x4000, 0x4040};
    const size_t bytes = element_size(dtype);
    Buffer data(4 * bytes);
    for (uint32_t number = 0; number < 4; ++number) {
        std::byte* const at = data.data() + number * bytes;
        const auto put = [at](auto typed, size_t place = 0) {
            std::memcpy(at + place * sizeof typed, &typed, sizeof typed);
        };
        switch (dtype) {
            case TUTTI_FLOAT16:
                put(halves[number]);
                break;
            case TUTTI_BFLOAT16:
                put(brains[number]);
                break;
            case TUTTI_FLOAT32:
                put(static_cast<float>(number));
                break;
            case TUTTI_FLOAT64:
                put(static_cast<double>(number));
                break;
            case TUTTI_COMPLEX64:
                put(static_cast<float>(number));
                put(static_cast<float>(3 - number), 1);
                break;
            case TUTTI_COMPLEX128:
                put(static_cast<double>(number));
                put(static_cast<double>(3 - number), 1);
                break;
            default:
                *at = static_cast<std::byte>(number);
        }
    }
    return data;
}

UNWATCHED inline void fill(std::byte* data, int rank, size_t count, const std::byte* numbers,
                           size_t bytes, bool of_two) {
    for (size_t index = 0; index < count; ++index) {
        const auto number = static_cast<uint32_t>(value(rank, index) + 5) % 4;
        const std::byte* const from = numbers + (of_two ? 1 + number % 2 : number) * bytes;
        for (size_t at = 0; at < bytes; ++at) data[index * bytes + at] = from[at];
    }
}

inline Buffer elements(int rank, size_t count, tutti_dtype dtype, tutti_reduce_op op) {
    const size_t bytes = element_size(dtype);
    Buffer data(count * bytes);
    // Products stay within what float16 holds exactly.
    fill(data.data(), rank, count, smallest(dtype).data(), bytes, op == TUTTI_PRODUCT);
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
