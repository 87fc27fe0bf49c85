// The data that the tests of algorithms move: lists of sizes around every limit at which a message
// or a segment is cut differently, and data that tell from whom, for whom and where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "algorithm/exchange.hpp"
#include "base/text.hpp"
#include "support/sanitizers.h"

namespace tutti::test {

using Buffer = std::vector<std::byte>;
using Buffers = std::vector<Buffer>;
using Sizes = std::vector<size_t>;

constexpr int max_ranks = THREAD_SANITIZED ? 3 : SANITIZED ? 4 : 9;
constexpr size_t eager = Exchange::eager_bytes;
constexpr size_t segment = 512 * 1024;

UNWATCHED inline void mark(std::byte* data, size_t from, size_t to, size_t bytes) {
    for (size_t index = 0; index < bytes; ++index) {
        data[index] = static_cast<std::byte>(from * 89 + to * 31 + index * 7 + (index >> 9));
    }
}

inline Buffer marked(int from, int to, size_t bytes) {
    Buffer data(bytes);
    mark(data.data(), static_cast<size_t>(from), static_cast<size_t>(to), bytes);
    return data;
}

// At once: std::equal looks at one byte after the other.
inline bool same(std::span<const std::byte> one, std::span<const std::byte> other) {
    return one.size() == other.size() &&
           (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

// A size for every rank: alike, rising, with holes, all of it on one rank.
inline std::vector<Sizes> size_lists(int ranks, size_t unit) {
    std::vector<Sizes> lists;
    const auto count = static_cast<size_t>(ranks);
    for (const size_t bytes : {size_t{0}, unit, eager / unit * unit, eager + unit}) {
        lists.emplace_back(count, bytes / unit * unit);
    }
    Sizes rising(count);
    std::iota(rising.begin(), rising.end(), size_t{0});
    for (size_t& size : rising) size *= unit * 3;
    lists.push_back(rising);
    Sizes holes(count);
    for (size_t rank = 0; rank < count; ++rank) {
        holes[rank] = rank % 2 == 1 ? 0 : (5000 + rank) / unit * unit;
    }
    lists.push_back(holes);
    Sizes one(count);
    one[count / 2] = 3 * segment + 5 * unit;
    lists.push_back(one);
    if (ranks <= 5) {
        Sizes cut(count);
        for (size_t rank = 0; rank < count; ++rank) {
            cut[rank] = (rank % 3 + 1) * segment + (rank % 2) * unit;
        }
        lists.push_back(cut);
    }
    return lists;
}

inline std::string text(const Sizes& sizes) {
    std::string result = "[";
    for (const size_t size : sizes) result += cat(result.size() > 1 ? " " : "", size);
    return result + "]";
}

template <typename Byte = std::byte, typename SomeBuffers>
std::vector<std::span<Byte>> spans(SomeBuffers& buffers) {
    return {buffers.begin(), buffers.end()};
}

}  // namespace tutti::test
