// The bytes of PyTorch 2's TCPStore protocol: query numbers, a writer for requests and answers.
// Integers are little-endian, strings are a 64-bit length and the bytes. Plain data, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

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
    // Unverified against a running PyTorch: Debian's has no queues, these three are as its source
    // documents them.
    QueuePush = 14,
    QueuePop = 15,
    QueueLen = 16,
    ListKeys = 17,
    Barrier = 18,
};

constexpr uint32_t validation_magic = 0x3C85F7CE;

// Answers of one byte.
constexpr uint8_t check_ready = 0;
constexpr uint8_t check_not_ready = 1;
constexpr uint8_t check_full = 2;  // of tutti_key alone: a tutti server, with no place left
constexpr uint8_t wait_over = 0;
constexpr uint8_t wait_cancelled = 1;

// Callers' keys have "/" in front of them on the wire; these have not.
// Counts the clients that have come.
constexpr std::string_view joined_key = "init/";
// CHECK says that it is there if the server is one of tutti's; it is never counted or waited for.
constexpr std::string_view tutti_key = "tutti/server";
// As a second key of that CHECK, with a name behind it that the client has chosen, it gives the
// client that name; and after the answer come three numbers, what the server takes: the most bytes
// of a key, bytes of a value, and keys in a request. PyTorch's servers see keys that are not there.
constexpr std::string_view hello_key = "tutti/hello/";
// GET of it, with a name behind it: why the server closed the connection of the client of this
// name; empty if it did not.
constexpr std::string_view refusal_key = "tutti/refusal/";

class Writer {
public:
    Writer() = default;
    explicit Writer(Query query) {
        out_.reserve(usual_request_bytes);
        byte(static_cast<uint8_t>(query));
    }

    Writer& query(Query query) { return byte(static_cast<uint8_t>(query)); }
    Writer& byte(uint8_t value);
    Writer& number32(uint32_t value);
    Writer& number(int64_t value);
    Writer& count(size_t value) { return number(static_cast<int64_t>(value)); }
    Writer& bytes(std::string_view value);
    // A caller's key, with "/" before it.
    Writer& wire_key(std::string_view key);
    // A count, then each key.
    Writer& wire_keys(Store::Keys keys);

    [[nodiscard]] size_t size() const { return out_.size(); }
    [[nodiscard]] bool empty() const { return out_.empty(); }
    // Leaves it empty.
    [[nodiscard]] std::string take() { return std::exchange(out_, {}); }

private:
    static constexpr size_t usual_request_bytes = 100;
    std::string out_;
};

}  // namespace tutti::protocol
