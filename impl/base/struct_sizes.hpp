// The sizes that a struct of the public headers had, from version to version. A caller's size says
// which fields it has; any other size ends inside a field, or where no version ended. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "text.hpp"

namespace tutti {

struct StructSizes {
    const char* name = nullptr;
    std::array<uint32_t, 8> sizes{};  // growing; 0: of no version

    [[nodiscard]] constexpr std::span<const uint32_t> all() const {
        return {sizes.begin(), std::ranges::find(sizes, 0U)};
    }
};

// Each struct that has a `struct_size` has a line, beside the code that reads it. When it grows,
// its new size goes behind the others.
template <typename Struct>
inline constexpr StructSizes sizes_of{};

// For a struct that is read: a struct without a line, or that has grown since, does not compile.
template <typename Struct>
constexpr std::span<const uint32_t> known_sizes() {
    constexpr const StructSizes& known = sizes_of<Struct>;
    static_assert(known.name != nullptr, "sizes_of has no line for this struct");
    static_assert(known.all().back() == sizeof(Struct), "its newest size is missing in sizes_of");
    static_assert(std::ranges::is_sorted(known.all()));
    return known.all();
}

template <typename Struct>
bool is_known_size(uint32_t size) {
    const auto sizes = known_sizes<Struct>();
    return std::ranges::find(sizes, size) != sizes.end();
}

// "a tutti_call_options has 16 or 40 bytes, or more in a newer version"
template <typename Struct>
std::string known_sizes_in_words() {
    const auto sizes = known_sizes<Struct>();
    std::string text = cat("a ", sizes_of<Struct>.name, " has ", sizes.front());
    for (size_t at = 1; at < sizes.size(); ++at) {
        text += cat(at + 1 < sizes.size() ? ", " : " or ", sizes[at]);
    }
    return text + " bytes, or more in a newer version";
}

}  // namespace tutti
