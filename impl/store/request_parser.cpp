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
        case Query::QueuePush:
            return "kv";
        case Query::CompareSet:
            return "kvv";
        case Query::Get:
        case Query::DeleteKey:
        case Query::QueuePop:
        case Query::QueueLen:
            return "k";
        case Query::Add:
        case Query::Barrier:
            return "kn";
        case Query::Check:
        case Query::Wait:
        case Query::MultiGet:
            return "K";
        case Query::MultiSet:
            return "P";
        case Query::CountKeys:
        case Query::CancelWait:
        case Query::ListKeys:
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
    announced_bytes_ = 0;
}

bool RequestParser::take_field(Input& input) {
    switch (*field_) {
        case 'k':
            return take_key(input);
        case 'v':
            return take_string(input, limits_.value_bytes, request_.values);
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
        if (count > limits_.keys_per_request)
            refuse(cat(count, " keys are too many, at most ", limits_.keys_per_request,
                       " are possible"));
        list_left_ = count * (with_values ? 2 : 1);
    }
    for (; *list_left_ > 0; --*list_left_) {
        const bool value_is_next = with_values && *list_left_ % 2 == 1;
        const bool complete = value_is_next
                                  ? take_string(input, limits_.value_bytes, request_.values)
                                  : take_key(input);
        if (!complete) return false;
    }
    list_left_.reset();
    return true;
}

// Callers' keys have "/" before them; the others are the protocol's own, and short.
bool RequestParser::take_key(Input& input) {
    const size_t limit = limits_.key_bytes + 1;
    if (!take_string(input, std::max(limit, store_limits::own_key_bytes), request_.keys))
        return false;
    const std::string& key = request_.keys.back();
    if (key.size() > limit && key.front() == '/')
        refuse(
            cat("a key of ", key.size(), " bytes is too long, at most ", limit, " are possible"));
    return true;
}

bool RequestParser::take_string(Input& input, size_t limit, std::vector<std::string>& into) {
    if (!string_length_) {
        uint64_t length = 0;
        if (!take_integer(input, 8, length)) return false;
        if (length > limit)
            refuse(cat("a string of ", length, " bytes is too long, at most ", limit,
                       " are possible"));
        announced_bytes_ += length;
        // Clients keep to the limit without "/" before keys, and a single value's key.
        const size_t spare = limits_.key_bytes + 1 + limits_.keys_per_request;
        if (announced_bytes_ > limits_.request_bytes() + spare)
            refuse(cat("its keys and values are too large, at most ", limits_.request_bytes(),
                       " bytes are possible"));
        string_length_ = length;
    }
    const size_t size = std::min(input.size(), *string_length_ - string_.size());
    string_.append(reinterpret_cast<const char*>(input.data()), size);
    input = input.subspan(size);
    if (string_.size() < *string_length_) return false;
    request_.bytes += string_.size() + sizeof(std::string);
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
