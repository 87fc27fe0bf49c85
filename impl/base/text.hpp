// cat("rank ", 3, " left"): strings from pieces. std only, any thread.
#pragma once

#include <concepts>
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

}  // namespace tutti
