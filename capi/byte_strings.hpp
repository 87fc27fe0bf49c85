// Byte strings of any size as calls take them and give them. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/block.hpp"
#include "object/settings.hpp"
#include "refusal.hpp"

namespace tutti::capi {

inline std::span<const std::byte> read_memory(const void* data, size_t size,
                                              const std::string& argument) {
    if (data == nullptr && size > 0) refuse(argument, " is NULL but its size is ", size);
    return {static_cast<const std::byte*>(data), size};
}

inline size_t read_most(int64_t max_bytes) {
    if (max_bytes < 0) refuse("max_bytes is ", max_bytes);
    if (max_bytes > 0) return static_cast<size_t>(max_bytes);
    return environment_settings(false).message_bytes;
}

// As the object of a handle.
inline std::shared_ptr<const std::string> to_bytes(OwnedBytes bytes) {
    const auto* text = reinterpret_cast<const char*>(bytes.block.data());
    return std::make_shared<const std::string>(text, bytes.size);
}

}  // namespace tutti::capi
