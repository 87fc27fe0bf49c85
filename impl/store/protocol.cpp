// Encoding of the store protocol. Any thread.
#include "protocol.hpp"

namespace tutti::protocol {
namespace {

template <typename Unsigned>
void append_little_endian(std::string& out, Unsigned value) {
    char bytes[sizeof value];
    for (size_t i = 0; i < sizeof value; ++i)
        bytes[i] = static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
    out.append(bytes, sizeof bytes);
}

}  // namespace

Writer& Writer::byte(uint8_t value) {
    out_.push_back(static_cast<char>(value));
    return *this;
}

Writer& Writer::number32(uint32_t value) {
    append_little_endian(out_, value);
    return *this;
}

Writer& Writer::number(int64_t value) {
    append_little_endian(out_, static_cast<uint64_t>(value));
    return *this;
}

Writer& Writer::bytes(std::string_view value) {
    count(value.size());
    out_.append(value);
    return *this;
}

Writer& Writer::wire_key(std::string_view key) {
    count(key.size() + 1);
    out_ += '/';
    out_.append(key);
    return *this;
}

Writer& Writer::wire_keys(Store::Keys keys) {
    count(keys.size());
    for (const std::string& key : keys) wire_key(key);
    return *this;
}

}  // namespace tutti::protocol
