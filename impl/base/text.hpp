// cat("rank ", 3, " left"): strings from pieces; and beginnings of them. std only, any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace tutti {

namespace text_detail {
inline void append(std::string& out, std::string_view piece) {
    out.append(piece);
}
inline void append(std::string& out, char piece) {
    out.push_back(piece);
}
template <typename Number>
requires(std::integral<Number> || std::floating_point<Number>) void append(std::string& out,
                                                                           Number piece) {
    out.append(std::to_string(piece));
}
}  // namespace text_detail

template <typename... Pieces>
std::string cat(const Pieces&... pieces) {
    std::string out;
    (text_detail::append(out, pieces), ...);
    return out;
}

// The longest beginning of `text` of at most `room` bytes that ends between characters.
inline std::string_view cut(std::string_view text, size_t room) noexcept {
    if (text.size() <= room) return text;
    const auto continues = [&](size_t at) { return (text[at] & 0xc0) == 0x80; };
    while (room > 0 && continues(room)) --room;
    return text.substr(0, room);
}

}  // namespace tutti
