// Typed memory of a caller, checked: what calls carry. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
};

}  // namespace tutti
