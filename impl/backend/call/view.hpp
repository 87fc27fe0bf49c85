// Typed memory of a caller, checked: what calls carry. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/types.h"

namespace tutti {

size_t element_size(tutti_dtype dtype);

struct View {
    void* data = nullptr;
    int64_t count = 0;  // elements
    tutti_dtype dtype = TUTTI_UINT8;

    [[nodiscard]] size_t size() const { return static_cast<size_t>(count) * element_size(dtype); }
    [[nodiscard]] std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(data), size()};
    }
    // `length` elements from the one at `begin` on.
    [[nodiscard]] View part(int64_t begin, int64_t length) const {
        if (length == 0) return {data, 0, dtype};  // data may be NULL
        const size_t offset = static_cast<size_t>(begin) * element_size(dtype);
        return {static_cast<std::byte*>(data) + offset, length, dtype};
    }
};

struct ConstView {
    const void* data = nullptr;
    int64_t count = 0;
    tutti_dtype dtype = TUTTI_UINT8;

    ConstView() = default;
    ConstView(const void* data_, int64_t count_, tutti_dtype dtype_)
        : data(data_), count(count_), dtype(dtype_) {}
    ConstView(const View& view) : data(view.data), count(view.count), dtype(view.dtype) {}
    [[nodiscard]] size_t size() const { return static_cast<size_t>(count) * element_size(dtype); }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(data), size()};
    }
    [[nodiscard]] ConstView part(int64_t begin, int64_t length) const {
        if (length == 0) return {data, 0, dtype};
        const size_t offset = static_cast<size_t>(begin) * element_size(dtype);
        return {static_cast<const std::byte*>(data) + offset, length, dtype};
    }
};

using Views = std::vector<View>;
using ConstViews = std::vector<ConstView>;

// The memory of each.
template <typename SomeView>
auto bytes_of(const std::vector<SomeView>& views) {
    std::vector<decltype(views.front().bytes())> result;
    result.reserve(views.size());
    for (const SomeView& view : views) result.push_back(view.bytes());
    return result;
}

// The memory of every rank's part. Splits are elements for every rank; none: equal parts.
template <typename SomeView>
auto parts_of(const SomeView& whole, int ranks, const std::vector<int64_t>& splits = {}) {
    std::vector<decltype(whole.bytes())> result;
    result.reserve(static_cast<size_t>(ranks));
    int64_t begin = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const int64_t length =
            splits.empty() ? whole.count / ranks : splits[static_cast<size_t>(rank)];
        result.push_back(whole.part(begin, length).bytes());
        begin += length;
    }
    return result;
}

}  // namespace tutti
