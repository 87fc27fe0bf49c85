#include "invitation.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace tutti::membership {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

bool parse_port(const std::string& text, int& port) {
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), port);
    return fault == std::errc{} && stop == text.data() + text.size() && port > 0 && port < 65536;
}

}  // namespace

std::string hex(const Token& token) {
    std::string text;
    for (const char byte : token) {
        const auto value = static_cast<unsigned char>(byte);
        text += hex_digits[value >> 4];
        text += hex_digits[value & 15];
    }
    return text;
}

bool parse_hex(std::string_view text, Token& token) {
    if (text.size() != 2 * token.size()) return false;
    const std::string_view digits(hex_digits);
    for (size_t index = 0; index < token.size(); ++index) {
        const size_t high = digits.find(text[2 * index]);
        const size_t low = digits.find(text[2 * index + 1]);
        if (high == digits.npos || low == digits.npos) return false;
        token[index] = static_cast<char>(high * 16 + low);
    }
    return true;
}

std::string Invitation::text() const {
    std::string text = cat(port, " ", hex(token), " ", host);
    for (size_t index = 0; index < addresses.size(); ++index) {
        text += cat(index == 0 ? " " : ",", addresses[index]);
    }
    return text;
}

Invitation Invitation::parse(const std::string& text) {
    Invitation invitation;
    size_t begin = 0;
    const auto next = [&] {
        const size_t from = std::min(begin, text.size());
        const size_t space = std::min(text.find(' ', from), text.size());
        begin = space + 1;
        return text.substr(from, space - from);
    };
    const bool port_fits = parse_port(next(), invitation.port);
    const bool token_fits = parse_hex(next(), invitation.token);
    invitation.host = next();
    if (!port_fits || !token_fits || invitation.host.empty() || begin >= text.size()) {
        throw Error(TUTTI_ERR_STORE,
                    cat("the store has \"", text,
                        "\" in place of rank 0's invitation: does another group use it?"));
    }
    while (begin < text.size()) {
        const size_t comma = std::min(text.find(',', begin), text.size());
        invitation.addresses.push_back(text.substr(begin, comma - begin));
        begin = comma + 1;
    }
    return invitation;
}

}  // namespace tutti::membership
