#include "short_floats.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "reduce/reduce.hpp"

namespace tutti {

namespace {

constexpr int64_t block = 2048;  // floats that are converted by way of float32 at once

bool is_double(tutti_dtype dtype) {
    return dtype == TUTTI_FLOAT64 || dtype == TUTTI_COMPLEX128;
}

// An infinity is the same in every format; what float32 cannot hold, float16 cannot either.
void narrow(float* into, const std::byte* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        double number = 0;
        std::memcpy(&number, from + static_cast<size_t>(i) * sizeof number, sizeof number);
        into[i] = static_cast<float>(number);
    }
}

void widen(std::byte* into, const float* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const double number = from[i];
        std::memcpy(into + static_cast<size_t>(i) * sizeof number, &number, sizeof number);
    }
}

// Calls `convert` with the places of each block: its floats, the longer ones, the shorter ones.
template <typename Convert>
void by_blocks(const View& longer, const View& shorter, Convert&& convert) {
    const int64_t count = floats_of(longer);
    const size_t size = is_double(longer.dtype) ? sizeof(double) : sizeof(float);
    auto* const long_ones = static_cast<std::byte*>(longer.data);
    auto* const short_ones = static_cast<std::byte*>(shorter.data);
    for (int64_t begin = 0; begin < count; begin += block) {
        const auto at = static_cast<size_t>(begin);
        convert(std::min(block, count - begin), long_ones + at * size,
                short_ones + at * sizeof(uint16_t));
    }
}

void sum_one(float* into, const void* from, int64_t count, tutti_dtype dtype) {
    sum_to_float32(into, {&from, 1}, static_cast<size_t>(count), dtype);
}

}  // namespace

bool is_shortened(tutti_dtype dtype) {
    return dtype == TUTTI_FLOAT32 || dtype == TUTTI_COMPLEX64 || is_double(dtype);
}

int64_t floats_of(const View& numbers) {
    const bool is_complex = numbers.dtype == TUTTI_COMPLEX64 || numbers.dtype == TUTTI_COMPLEX128;
    return is_complex ? 2 * numbers.count : numbers.count;
}

void shorten(const View& into, const View& numbers) {
    const tutti_dtype dtype = into.dtype;
    by_blocks(numbers, into, [&](int64_t count, const std::byte* from, std::byte* to) {
        std::array<float, block> floats;
        const auto* source = reinterpret_cast<const float*>(from);
        if (is_double(numbers.dtype)) {
            narrow(floats.data(), from, count);
            source = floats.data();
        }
        round_float32(to, source, static_cast<size_t>(count), dtype, TUTTI_SUM, 1);
    });
}

void lengthen(const View& into, const View& numbers) {
    const tutti_dtype dtype = numbers.dtype;
    by_blocks(into, numbers, [&](int64_t count, std::byte* to, const std::byte* from) {
        if (!is_double(into.dtype)) {
            return sum_one(reinterpret_cast<float*>(to), from, count, dtype);
        }
        std::array<float, block> floats;
        sum_one(floats.data(), from, count, dtype);
        widen(to, floats.data(), count);
    });
}

}  // namespace tutti
