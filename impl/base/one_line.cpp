#include "one_line.hpp"

#include <cstdint>

#include "utf8.hpp"

namespace tutti {

namespace {

uint32_t code_point(std::string_view character) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(character[at]); };
    if (character.size() == 1) return byte(0);
    uint32_t code = byte(0) & (0xffU >> (character.size() + 1));
    for (size_t at = 1; at < character.size(); ++at) code = code << 6 | (byte(at) & 0x3fU);
    return code;
}

// Control characters of both kinds, and the separators of lines and paragraphs.
bool must_be_written_out(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

void write_out(std::string& line, uint32_t code) {
    constexpr std::string_view digits = "0123456789abcdef";
    line += '\\';
    if (code == '\n') {
        line += 'n';
    } else if (code == '\r') {
        line += 'r';
    } else if (code == '\t') {
        line += 't';
    } else {
        line += 'u';
        for (const unsigned shift : {12U, 8U, 4U, 0U}) line += digits[code >> shift & 0xf];
    }
}

}  // namespace

std::string one_line(std::string_view text) {
    std::string line;
    line.reserve(text.size());
    while (!text.empty()) {
        const size_t size = utf8_character(text);
        const std::string_view character = text.substr(0, size);
        if (size == 0) {
            line += "\xef\xbf\xbd";
        } else if (const uint32_t code = code_point(character); must_be_written_out(code)) {
            write_out(line, code);
        } else {
            line += character;
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return line;
}

}  // namespace tutti
