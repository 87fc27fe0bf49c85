// The message in an error file. Whatever a program has written there must do no harm: what cannot
// be understood is shown as it is. Any thread.
#include "error_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "limits.hpp"
#include "net/descriptor.hpp"

namespace tutti::launch {

namespace {

void skip_space(std::string_view& text) {
    const auto start = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(start == std::string_view::npos ? text.size() : start);
}

std::optional<uint32_t> take_hex(std::string_view& text) {
    constexpr size_t digits = 4;
    if (text.size() < digits) return std::nullopt;
    uint32_t value = 0;
    for (const char digit : text.substr(0, digits)) {
        const auto place = std::string_view("0123456789abcdef").find(static_cast<char>(digit | 32));
        if (place == std::string_view::npos) return std::nullopt;
        value = value * 16 + static_cast<uint32_t>(place);
    }
    text.remove_prefix(digits);
    return value;
}

void append_utf8(std::string& out, uint32_t code) {
    const auto tail = [&](uint32_t bits) { out += static_cast<char>(0x80 | (bits & 0x3F)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        tail(code);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        tail(code >> 6);
        tail(code);
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        tail(code >> 12);
        tail(code >> 6);
        tail(code);
    }
}

// After "\u": one code, or the two halves of a pair.
bool take_code(std::string_view& text, std::string& out) {
    auto code = take_hex(text);
    if (!code) return false;
    if (*code >= 0xD800 && *code < 0xDC00 && text.starts_with("\\u")) {
        auto rest = text.substr(2);
        const auto low = take_hex(rest);
        if (low && *low >= 0xDC00 && *low < 0xE000) {
            code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
            text = rest;
        }
    }
    append_utf8(out, *code);
    return true;
}

// The string that starts at the quote in front.
std::optional<std::string> take_string(std::string_view& text) {
    std::string out;
    text.remove_prefix(1);
    while (!text.empty()) {
        const char letter = text.front();
        text.remove_prefix(1);
        if (letter == '"') return out;
        if (letter != '\\') {
            out += letter;
            continue;
        }
        if (text.empty()) break;
        const char escaped = text.front();
        text.remove_prefix(1);
        constexpr std::string_view letters = "bfnrt";
        constexpr std::string_view meanings = "\b\f\n\r\t";
        const auto place = letters.find(escaped);
        if (escaped == 'u') {
            if (!take_code(text, out)) break;
        } else {
            out += place == std::string_view::npos ? escaped : meanings[place];
        }
    }
    return std::nullopt;
}

// The program chose what lies there: a pipe would let us wait for a writer that never comes, and a
// device may have no end.
std::string read_start(const std::string& path) {
    const net::Descriptor file(
        ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
    struct stat facts = {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
    std::string text(limits::error_file_bytes, '\0');
    size_t size = 0;
    while (size < text.size()) {
        const auto count = ::read(file.get(), text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        size += static_cast<size_t>(count);
    }
    text.resize(size);
    return text;
}

}  // namespace

std::string message_of_json(const std::string& text) {
    std::string_view rest = text;
    while (true) {
        const auto quote = rest.find('"');
        if (quote == std::string_view::npos) return text;
        rest.remove_prefix(quote);
        const auto name = take_string(rest);
        if (!name) return text;
        if (*name != "message") continue;
        skip_space(rest);
        if (!rest.starts_with(':')) continue;
        rest.remove_prefix(1);
        skip_space(rest);
        if (!rest.starts_with('"')) continue;  // the message is further inside
        const auto message = take_string(rest);
        return message ? *message : text;
    }
}

std::string read_error_file(const std::string& path) {
    const auto message = message_of_json(read_start(path));
    if (message.size() <= limits::error_message_bytes) return message;
    return cat(cut(message, limits::error_message_bytes), "... (cut here)");
}

}  // namespace tutti::launch
