// Requests of the store protocol from a stream of bytes that may be cut anywhere. Knows nothing of
// sockets; trusts no byte: memory grows with what has arrived, never with what a length promises.
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol.hpp"

namespace tutti::protocol {

struct Request {
    Query query{};
    std::vector<std::string> keys;
    std::vector<std::string> values;
    int64_t number = 0;
    size_t bytes = 0;  // of memory, about
};

class RequestParser {
public:
    explicit RequestParser(const StoreLimits& limits = {}) : limits_(limits) {}

    // Takes bytes from the front of `input` until a request is complete; nothing when `input` is
    // used up first. Throws STORE for an unknown query or something beyond the limits; the parser
    // is of no use afterwards.
    std::optional<Request> next(std::span<const std::byte>& input);
    // Memory that the request under way takes so far, about.
    [[nodiscard]] size_t held_bytes() const {
        return field_ == nullptr ? 0 : request_.bytes + string_.size();
    }

private:
    using Input = std::span<const std::byte>;

    void begin(uint64_t query);
    // These return false when the input was used up before the end.
    bool take_field(Input& input);
    bool take_list(Input& input, bool with_values);
    bool take_key(Input& input);
    bool take_string(Input& input, size_t limit, std::vector<std::string>& into);
    bool take_integer(Input& input, size_t size, uint64_t& value);

    StoreLimits limits_;
    Request request_;
    const char* field_ = nullptr;  // of the request's shape; null between requests
    size_t announced_bytes_ = 0;   // of all its strings

    std::array<uint8_t, 8> integer_{};  // the integer being read
    size_t integer_size_ = 0;
    std::optional<size_t> list_left_;      // strings of the list being read
    std::optional<size_t> string_length_;  // of the string being read
    std::string string_;
};

}  // namespace tutti::protocol
