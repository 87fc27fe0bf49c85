// Memory cut into pieces, the units that algorithms move. Any thread; touches only its arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/bytes.hpp"

namespace tutti::algorithm {

// The number of pieces of a length; empty data are one piece, so that a message says so.
constexpr size_t pieces_of(size_t bytes, size_t length) {
    return std::max<size_t>(1, (bytes + length - 1) / length);
}

// The piece of that index; empty behind the end.
template <typename Byte>
std::span<Byte> piece_of(std::span<Byte> data, size_t index, size_t length) {
    const size_t begin = std::min(index * length, data.size());
    return data.subspan(begin, std::min(length, data.size() - begin));
}

// Long data move in segments that follow each other, so that the line and the adding keep each
// other company. Whole elements of every dtype.
constexpr size_t segment_bytes = 512 * 1024;
constexpr size_t segments_ahead = 4;  // receives posted before the first arrives

constexpr size_t segments_of(size_t bytes) {
    return pieces_of(bytes, segment_bytes);
}

template <typename Byte>
std::span<Byte> segment_of(std::span<Byte> data, size_t index) {
    return piece_of(data, index, segment_bytes);
}

// Parts of whole elements, as even as can be: the first ones have one element more.
template <typename Byte>
std::vector<std::span<Byte>> even_parts(std::span<Byte> data, size_t element, int count) {
    const auto parts = static_cast<size_t>(count);
    const size_t elements = data.size() / element;
    std::vector<std::span<Byte>> result;
    result.reserve(parts);
    size_t begin = 0;
    for (size_t index = 0; index < parts; ++index) {
        const size_t length = (elements / parts + (index < elements % parts ? 1 : 0)) * element;
        result.push_back(data.subspan(begin, length));
        begin += length;
    }
    return result;
}

template <typename Byte>
size_t total_size(std::span<const std::span<Byte>> parts) {
    size_t total = 0;
    for (const auto& part : parts) total += part.size();
    return total;
}

// Whether they are one piece of memory.
template <typename Byte>
bool follow_each_other(std::span<const std::span<Byte>> parts) {
    for (size_t index = 1; index < parts.size(); ++index) {
        if (parts[index].data() != parts[index - 1].data() + parts[index - 1].size()) return false;
    }
    return true;
}

// For algorithms that only read the memory of the rank that sends it.
inline Bytes unwritten(ConstBytes bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// The rank so many places further on.
inline int around(int rank, int distance, int size) {
    return (rank + distance % size + size) % size;
}

}  // namespace tutti::algorithm
