// Byte strings of any size as calls take them and give them. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/block.hpp"
#include "object/settings.hpp"
#include "refusal.hpp"

namespace tutti::capi {

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
