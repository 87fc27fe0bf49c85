#include "json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/text.hpp"

namespace tutti::json {

namespace {

template <typename Number>
void append_number(std::string& out, Number number) {
    if (std::isnan(number)) {
        out += "\"NaN\"";
    } else if (std::isinf(number)) {
        out += number < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    } else {
        std::array<char, 32> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        const std::string_view text(digits.data(), static_cast<size_t>(end - digits.data()));
        out += text;
        // So that it is not taken for an integer.
        if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
    }
}

constexpr bool plain(unsigned char byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f;
}

void append_escaped(std::string& out, unsigned char byte) {
    switch (byte) {
        case '"':
            out += "\\\"";
            return;
        case '\\':
            out += "\\\\";
            return;
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default: {
            constexpr std::string_view hex = "0123456789abcdef";
            out += "\\u00";
            out += hex[byte >> 4];
            out += hex[byte & 15];
        }
    }
}

}  // namespace

void append_real(std::string& out, double number) {
    append_number(out, number);
}

void append_real(std::string& out, float number) {
    append_number(out, number);
}

void append_string(std::string& out, std::string_view text, size_t limit) {
    // A character counts once here, however it is escaped.
    const size_t shown = cut(text, limit > out.size() ? limit - out.size() : 0).size();
    out += '"';
    for (size_t at = 0; at < shown;) {
        size_t end = at;
        while (end < shown && plain(static_cast<unsigned char>(text[end]))) ++end;
        out.append(text, at, end - at);
        if (end < shown) append_escaped(out, static_cast<unsigned char>(text[end++]));
        at = end;
    }
    out += shown < text.size() ? "...\"" : "\"";
}

void append_bytes(std::string& out, std::string_view bytes, size_t limit) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t room = limit > out.size() ? limit - out.size() : 0;
    const bool cut = bytes.size() / 3 * 4 > room;
    const size_t shown = cut ? room / 4 * 3 : bytes.size();
    out += '"';
    for (size_t at = 0; at < shown; at += 3) {
        const size_t count = std::min<size_t>(3, shown - at);
        uint32_t word = 0;
        for (size_t i = 0; i < 3; ++i) {
            const auto byte = i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U;
            word = word << 8 | byte;
        }
        for (size_t i = 0; i < 4; ++i) {
            out += i <= count ? digits[word >> (18 - 6 * i) & 63] : '=';
        }
    }
    out += cut ? "...\"" : "\"";
}

void append_time(std::string& out, int64_t seconds, int64_t nanoseconds) {
    constexpr int64_t first_second = -62'167'219'200;  // of the year 0
    constexpr int64_t last_second = 253'402'300'799;   // of the year 9999
    std::array<char, 64> text;
    int size = 0;
    if (seconds < first_second || seconds > last_second) {
        size = std::snprintf(text.data(), text.size(), "\"@%lld+%09lldns\"",
                             static_cast<long long>(seconds), static_cast<long long>(nanoseconds));
        out.append(text.data(), static_cast<size_t>(size));
        return;
    }
    using std::chrono::days, std::chrono::sys_days, std::chrono::year_month_day;
    constexpr int64_t day = 86400;
    const int64_t number = seconds >= 0 ? seconds / day : -((day - 1 - seconds) / day);
    const year_month_day date{sys_days(days(number))};
    const int64_t rest = seconds - number * day;
    size = std::snprintf(text.data(), text.size(), "\"%04d-%02u-%02uT%02d:%02d:%02d",
                         static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                         static_cast<unsigned>(date.day()), static_cast<int>(rest / 3600),
                         static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
    out.append(text.data(), static_cast<size_t>(size));
    if (nanoseconds != 0) {
        size =
            std::snprintf(text.data(), text.size(), ".%09lld", static_cast<long long>(nanoseconds));
        while (text[static_cast<size_t>(size) - 1] == '0') --size;
        out.append(text.data(), static_cast<size_t>(size));
    }
    out += "Z\"";
}

}  // namespace tutti::json
