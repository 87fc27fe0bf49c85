// The bytes of PyTorch 2's TCPStore protocol: query numbers, a writer for requests and answers.
// Integers are little-endian, strings are a 64-bit length and the bytes. Plain data, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store.hpp"

namespace tutti::protocol {

enum class Query : uint8_t {
    Validate = 0,
    Set = 1,
    CompareSet = 2,
    Get = 3,
    Add = 4,
    Check = 5,
    Wait = 6,
    CountKeys = 7,
    DeleteKey = 8,
    Append = 9,
    MultiGet = 10,
    MultiSet = 11,
    CancelWait = 12,
    Ping = 13,
};

constexpr uint32_t validation_magic = 0x3C85F7CE;

// Answers of one byte.
constexpr uint8_t check_ready = 0;
constexpr uint8_t check_not_ready = 1;
constexpr uint8_t wait_over = 0;
constexpr uint8_t wait_cancelled = 1;

// Callers' keys have "/" in front of them on the wire; these two have not.
// Counts the clients that have come.
constexpr std::string_view joined_key = "init/";
// CHECK says that it is there if the server is one of tutti's; it is never counted or waited for.
constexpr std::string_view tutti_key = "tutti/server";

inline std::string wire_key(const std::string& key) {
    return '/' + key;
}

class Writer {
public:
    Writer() = default;
    explicit Writer(Query query) { byte(static_cast<uint8_t>(query)); }

    Writer& query(Query query) { return byte(static_cast<uint8_t>(query)); }
    Writer& byte(uint8_t value);
    Writer& number32(uint32_t value);
    Writer& number(int64_t value);
    Writer& count(size_t value) { return number(static_cast<int64_t>(value)); }
    Writer& bytes(std::string_view value);
    // A count, then each key with "/" before it.
    Writer& wire_keys(Store::Keys keys);

    [[nodiscard]] size_t size() const { return out_.size(); }
    [[nodiscard]] std::string take() { return std::move(out_); }

private:
    std::string out_;
};

}  // namespace tutti::protocol
