// Texts of JSON. std only, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tutti {

// The bytes of the UTF-8 character that `text` begins with; 0: it begins with none.
inline size_t character_size(std::string_view text) noexcept {
    const auto at = [&](size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto continues = [&](size_t from, size_t to) {
        for (size_t i = from; i < to; ++i) {
            if ((at(i) & 0xc0) != 0x80) return false;
        }
        return true;
    };
    const unsigned lead = at(0);
    if (text.empty()) return 0;
    if (lead < 0x80) return 1;
    if (lead >= 0xc2 && lead < 0xe0) return continues(1, 2) ? 2 : 0;
    const unsigned second = at(1);
    if (lead >= 0xe0 && lead < 0xf0) {
        if (lead == 0xe0 && second < 0xa0) return 0;   // longer than need be
        if (lead == 0xed && second >= 0xa0) return 0;  // half of a pair of UTF-16
        return continues(1, 3) ? 3 : 0;
    }
    if (lead < 0xf0 || lead > 0xf4) return 0;
    if (lead == 0xf0 && second < 0x90) return 0;
    if (lead == 0xf4 && second >= 0x90) return 0;
    return continues(1, 4) ? 4 : 0;
}

// "text", with its quotes. Bytes that are no UTF-8 become U+FFFD.
inline std::string json_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    while (!text.empty()) {
        const size_t size = character_size(text);
        const char first = text.front();
        if (size == 0) {
            out += "\\ufffd";
        } else if (first == '"' || first == '\\') {
            out += '\\';
            out += first;
        } else if (first == '\n') {
            out += "\\n";
        } else if (size == 1 && static_cast<unsigned char>(first) < 0x20) {
            out += "\\u00";
            out += digits[static_cast<unsigned char>(first) >> 4];
            out += digits[static_cast<unsigned char>(first) & 0xf];
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    out += '"';
    return out;
}

}  // namespace tutti
