// Reading option structs whose size tells their age: a shorter one than ours is an older caller's,
// of a size that an older version had; a longer one is a newer caller's, which must not ask for
// what is not known here. Any thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "refusal.hpp"
#include "struct_sizes.hpp"

namespace tutti::capi {

// No options struct was ever shorter, or will be longer: any other size is a mistake, and memory of
// that size need not be there.
constexpr uint32_t min_options = 8;
constexpr uint32_t max_options = 256;

inline void check_timeout(int64_t timeout_ms, const char* argument) {
    if (timeout_ms < -1) {
        refuse(argument, " is ", timeout_ms, "; it must be 0 or more, or TUTTI_NO_TIMEOUT (-1)");
    }
}

// Throws unless a version of tutti has, or may have, a struct of this size.
template <typename Struct>
void check_struct_size(uint32_t size, const char* argument, const char* advice) {
    if (is_known_size<Struct>(size)) return;
    if (size > sizeof(Struct) && size <= max_options) return;
    refuse(argument, ".struct_size is ", size, "; ", advice, " (", known_sizes_in_words<Struct>(),
           ")");
}

// The caller's options with defaults for all it does not have; NULL is all defaults.
template <typename Options>
Options read_options(const Options* given, const char* argument = "options") {
    Options options{};
    if (given == nullptr) return options;
    uint32_t size = 0;
    std::memcpy(&size, given, sizeof size);
    check_struct_size<Options>(size, argument, "initialise it with its INIT macro or function");
    std::memcpy(&options, given, std::min<size_t>(size, sizeof options));
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    if (size > sizeof options &&
        std::any_of(bytes + sizeof options, bytes + size, [](auto byte) { return byte != 0; })) {
        refuse(argument, " has fields that tutti ", TUTTI_VERSION_STRING,
               " does not know; they must be 0");
    }
    if constexpr (requires { options.reserved; }) {
        if (options.reserved != 0) refuse(argument, ".reserved must be 0");
    }
    if constexpr (requires { options.timeout_ms; }) {
        check_timeout(options.timeout_ms, "options.timeout_ms");
    }
    return options;
}

// Zero is every field's default. Writes within the caller's size only; of a size that is a mistake,
// a struct_size that read_options() refuses.
template <typename Options>
void write_default_options(Options* options, size_t size) noexcept {
    static_assert(sizeof(Options) <= max_options / 2, "leaves no room for newer callers");
    uint32_t struct_size = 0;
    if (options == nullptr || size < sizeof struct_size) return;
    if (size >= min_options && size <= max_options) {
        struct_size = static_cast<uint32_t>(size);
        std::memset(static_cast<void*>(options), 0, size);
    }
    std::memcpy(static_cast<void*>(options), &struct_size, sizeof struct_size);
}

}  // namespace tutti::capi
