#include "dump_writer.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>

#include "base/json.hpp"
#include "base/text.hpp"

namespace tutti::trace {

void JsonWriter::separate() {
    if (!is_first_) out_ += ", ";
    is_first_ = false;
}

void JsonWriter::begin(char bracket) {
    separate();
    out_ += bracket;
    is_first_ = true;
}

void JsonWriter::end(char bracket) {
    out_ += bracket;
    is_first_ = false;
}

void JsonWriter::key(std::string_view name) {
    separate();
    out_ += json_text(name);
    out_ += ": ";
    is_first_ = true;
}

void JsonWriter::text(std::string_view value) {
    separate();
    out_ += json_text(value);
}

void JsonWriter::number(int64_t value) {
    separate();
    out_ += std::to_string(value);
}

void JsonWriter::real(double value) {
    if (!std::isfinite(value)) return none();
    separate();
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    out_ += text.data();
}

void JsonWriter::boolean(bool value) {
    separate();
    out_ += value ? "true" : "false";
}

void JsonWriter::none() {
    separate();
    out_ += "null";
}

PickleWriter::PickleWriter() {
    out_ = "\x80\x02";
}

void PickleWriter::add_little_endian(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
}

void PickleWriter::text(std::string_view value) {
    out_ += 'X';
    add_little_endian(value.size(), 4);
    out_ += value;
}

void PickleWriter::number(int64_t value) {
    if (value == static_cast<int32_t>(value)) {
        out_ += 'J';
        add_little_endian(static_cast<uint64_t>(value), 4);
    } else {
        out_ += "\x8a\x08";
        add_little_endian(static_cast<uint64_t>(value), 8);
    }
}

void PickleWriter::real(double value) {
    out_ += 'G';
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
}

void PickleWriter::boolean(bool value) {
    out_ += value ? '\x88' : '\x89';
}

void PickleWriter::none() {
    out_ += 'N';
}

std::string PickleWriter::take() {
    out_ += '.';
    return std::move(out_);
}

}  // namespace tutti::trace
