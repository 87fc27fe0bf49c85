#include "utf8.hpp"

#include <cstdint>

namespace tutti {

size_t utf8_character(std::string_view text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const size_t left = text.size();
    const auto continues = [&](size_t place) { return (at[place] & 0xc0) == 0x80; };
    const unsigned first = at[0];
    if (first < 0x80) return 1;
    if (first < 0xc2) return 0;
    if (first < 0xe0) return left >= 2 && continues(1) ? 2 : 0;
    if (first < 0xf0) {
        if (left < 3 || !continues(1) || !continues(2)) return 0;
        if (first == 0xe0 && at[1] < 0xa0) return 0;   // overlong
        if (first == 0xed && at[1] >= 0xa0) return 0;  // a surrogate
        return 3;
    }
    if (first > 0xf4 || left < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xf0 && at[1] < 0x90) return 0;   // overlong
    if (first == 0xf4 && at[1] >= 0x90) return 0;  // above U+10FFFF
    return 4;
}

namespace {

// Whether the next 64 bytes are ASCII: one pass that the compiler makes a few wide instructions.
bool ascii_block(const unsigned char* at) {
    unsigned char any = 0;
    for (size_t i = 0; i < 64; ++i) any = static_cast<unsigned char>(any | at[i]);
    return any < 0x80;
}

}  // namespace

std::optional<size_t> utf8_fault(std::string_view text) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    size_t at = 0;
    while (at < text.size()) {
        while (text.size() - at >= 64 && ascii_block(bytes + at)) at += 64;
        // Up to where a whole block may be tried again.
        for (const size_t pause = at + 64; at < text.size() && at < pause;) {
            const size_t size = utf8_character(text.substr(at));
            if (size == 0) return at;
            at += size;
        }
    }
    return std::nullopt;
}

}  // namespace tutti
