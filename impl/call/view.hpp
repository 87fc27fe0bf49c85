// Typed memory of a caller, checked: what calls carry. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reduce/dtypes.hpp"
#include "tutti/types.h"

namespace tutti {

// As in tutti_buffer.
struct Device {
    tutti_device_type type = TUTTI_CPU;
    int32_t index = 0;

    bool operator==(const Device&) const = default;
};

// "cpu", "cuda:1".
std::string describe(const Device& device);

struct View {
    void* data = nullptr;
    int64_t count = 0;  // elements
    tutti_dtype dtype = TUTTI_UINT8;
    Device device{};

    [[nodiscard]] size_t size() const { return static_cast<size_t>(count) * element_size(dtype); }
    [[nodiscard]] std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(data), size()};
    }
    // `length` elements from the one at `begin` on.
    [[nodiscard]] View part(int64_t begin, int64_t length) const {
        if (length == 0) return {data, 0, dtype, device};  // data may be NULL
        const size_t offset = static_cast<size_t>(begin) * element_size(dtype);
        return {static_cast<std::byte*>(data) + offset, length, dtype, device};
    }
};

struct ConstView {
    const void* data = nullptr;
    int64_t count = 0;
    tutti_dtype dtype = TUTTI_UINT8;
    Device device{};

    ConstView() = default;
    ConstView(const void* data_, int64_t count_, tutti_dtype dtype_, Device device_ = {})
        : data(data_), count(count_), dtype(dtype_), device(device_) {}
    ConstView(const View& view)
        : data(view.data), count(view.count), dtype(view.dtype), device(view.device) {}
    [[nodiscard]] size_t size() const { return static_cast<size_t>(count) * element_size(dtype); }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(data), size()};
    }
    [[nodiscard]] ConstView part(int64_t begin, int64_t length) const {
        if (length == 0) return {data, 0, dtype, device};
        const size_t offset = static_cast<size_t>(begin) * element_size(dtype);
        return {static_cast<const std::byte*>(data) + offset, length, dtype, device};
    }
};

using Views = std::vector<View>;
using ConstViews = std::vector<ConstView>;

}  // namespace tutti
