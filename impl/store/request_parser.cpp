// Each query is a row of fields; the parser walks along it and keeps its place between calls. A new
// query is one new row. One thread.
#include "request_parser.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "limits.hpp"

namespace tutti::protocol {
namespace {

// k key, v value, n 64-bit number, u 32-bit number, K count and keys, P count and key-value pairs.
const char* shape_of(uint64_t query) {
    switch (static_cast<Query>(query)) {
        case Query::Validate:
        case Query::Ping:
            return "u";
        case Query::Set:
        case Query::Append:
            return "kv";
        case Query::CompareSet:
            return "kvv";
        case Query::Get:
        case Query::DeleteKey:
            return "k";
        case Query::Add:
            return "kn";
        case Query::Check:
        case Query::Wait:
        case Query::MultiGet:
            return "K";
        case Query::MultiSet:
            return "P";
        case Query::CountKeys:
        case Query::CancelWait:
            return "";
    }
    return nullptr;
}

[[noreturn]] void refuse(const std::string& why) {
    throw Error(TUTTI_ERR_STORE, cat("a request to the store was refused: ", why));
}

}  // namespace

std::optional<Request> RequestParser::next(Input& input) {
    if (field_ == nullptr) {
        uint64_t query = 0;
        if (!take_integer(input, 1, query)) return std::nullopt;
        begin(query);
    }
    while (*field_ != '\0') {
        if (!take_field(input)) return std::nullopt;
        ++field_;
    }
    field_ = nullptr;
    return std::move(request_);
}

void RequestParser::begin(uint64_t query) {
    field_ = shape_of(query);
    if (field_ == nullptr) refuse(cat("query ", query, " is unknown"));
    request_ = Request();
    request_.query = static_cast<Query>(query);
    request_bytes_ = 0;
}

bool RequestParser::take_field(Input& input) {
    switch (*field_) {
        case 'k':
            return take_string(input, store_limits::wire_key_bytes, request_.keys);
        case 'v':
            return take_string(input, store_limits::request_bytes, request_.values);
        case 'K':
            return take_list(input, false);
        case 'P':
            return take_list(input, true);
        default: {
            uint64_t value = 0;
            if (!take_integer(input, *field_ == 'u' ? 4 : 8, value)) return false;
            request_.number = static_cast<int64_t>(value);
            return true;
        }
    }
}

bool RequestParser::take_list(Input& input, bool with_values) {
    if (!list_left_) {
        uint64_t count = 0;
        if (!take_integer(input, 8, count)) return false;
        if (count > store_limits::keys_per_request) refuse(cat(count, " keys are too many"));
        list_left_ = count * (with_values ? 2 : 1);
    }
    for (; *list_left_ > 0; --*list_left_) {
        const bool value_is_next = with_values && *list_left_ % 2 == 1;
        const bool complete = value_is_next
                                  ? take_string(input, store_limits::request_bytes, request_.values)
                                  : take_string(input, store_limits::wire_key_bytes, request_.keys);
        if (!complete) return false;
    }
    list_left_.reset();
    return true;
}

bool RequestParser::take_string(Input& input, size_t limit, std::vector<std::string>& into) {
    if (!string_length_) {
        uint64_t length = 0;
        if (!take_integer(input, 8, length)) return false;
        if (length > limit) refuse(cat("a string of ", length, " bytes is too long"));
        request_bytes_ += length;
        if (request_bytes_ > store_limits::request_bytes) refuse("it is too large");
        string_length_ = length;
    }
    const size_t size = std::min(input.size(), *string_length_ - string_.size());
    string_.append(reinterpret_cast<const char*>(input.data()), size);
    input = input.subspan(size);
    if (string_.size() < *string_length_) return false;
    into.push_back(std::exchange(string_, {}));
    string_length_.reset();
    return true;
}

bool RequestParser::take_integer(Input& input, size_t size, uint64_t& value) {
    while (integer_size_ < size) {
        if (input.empty()) return false;
        integer_[integer_size_++] = std::to_integer<uint8_t>(input.front());
        input = input.subspan(1);
    }
    value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{integer_[i]} << (8 * i);
    integer_size_ = 0;
    return true;
}

}  // namespace tutti::protocol
