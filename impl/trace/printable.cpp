#include "printable.hpp"

#include <cstddef>

namespace tutti::trace {

namespace {

// Bytes of the character that begins with `lead`; 0: none does.
size_t length_of(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead < 0xe0) return 2;
    if (lead >= 0xe0 && lead < 0xf0) return 3;
    return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

bool is_character(std::string_view text) {
    for (const char byte : text.substr(1)) {
        if ((static_cast<unsigned char>(byte) & 0xc0) != 0x80) return false;
    }
    const auto lead = static_cast<unsigned char>(text[0]);
    const auto second = static_cast<unsigned char>(text.size() > 1 ? text[1] : 0);
    if (lead == 0xe0 && second < 0xa0) return false;   // longer than need be
    if (lead == 0xed && second >= 0xa0) return false;  // half of a pair of UTF-16
    if (lead == 0xf0 && second < 0x90) return false;
    if (lead == 0xf4 && second >= 0x90) return false;
    return !(lead == 0xc2 && second < 0xa0);  // control characters as well
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const size_t length = length_of(lead);
        const bool is_control = lead < 0x20 || lead == 0x7f;
        if (length == 0 || is_control || i + length > text.size() ||
            !is_character(text.substr(i, length))) {
            out += '?';
            ++i;
            continue;
        }
        out += text.substr(i, length);
        i += length;
    }
    return out;
}

}  // namespace tutti::trace
