// FNV-1a: a hash that is the same in every process and on every host. std only, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti {

constexpr uint32_t fnv1a_32(std::string_view bytes) {
    uint32_t hash = 0x811c9dc5;
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x1000193;
    return hash;
}

constexpr uint64_t fnv1a_64(std::string_view bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return hash;
}

static_assert(fnv1a_32("a") == 0xe40c292c && fnv1a_64("a") == 0xaf63dc4c8601ec8c);

}  // namespace tutti
