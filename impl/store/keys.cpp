// Limits and texts of keys. Any thread.
#include "keys.hpp"

#include <charconv>

#include "base/error.hpp"
#include "limits.hpp"

namespace tutti {
namespace {

std::string quoted(const std::string& key) {
    constexpr const char* digits = "0123456789abcdef";
    std::string out = "\"";
    for (size_t i = 0; i < key.size() && i < store_limits::key_bytes_in_message; ++i) {
        const auto byte = static_cast<unsigned char>(key[i]);
        if (byte == '"' || byte == '\\')
            out += cat('\\', key[i]);
        else if (byte < 0x20 || byte == 0x7f)
            out += cat("\\x", digits[byte >> 4], digits[byte & 15]);
        else
            out += key[i];
    }
    return out + (key.size() > store_limits::key_bytes_in_message ? "...\"" : "\"");
}

void check_count(size_t count) {
    if (count > store_limits::keys_per_request)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(count, " keys in one call; at most ", store_limits::keys_per_request,
                        " are possible"));
}

}  // namespace

void check_key(const std::string& key) {
    if (key.size() > store_limits::key_bytes)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(key_text(key), " has ", key.size(), " bytes; at most ",
                        store_limits::key_bytes, " are possible"));
}

void check_keys(Store::Keys keys) {
    check_count(keys.size());
    for (const std::string& key : keys) check_key(key);
}

void check_pairs(Store::Pairs pairs) {
    check_count(pairs.size());
    for (const auto& [key, value] : pairs) check_key(key);
}

std::string key_text(const std::string& key) {
    return cat("key ", quoted(key));
}

std::string keys_text(Store::Keys keys) {
    if (keys.empty()) return "no keys";
    if (keys.size() == 1) return key_text(keys.front());
    std::string out = "keys ";
    const size_t shown = std::min(keys.size(), store_limits::keys_in_message);
    for (size_t i = 0; i < shown; ++i) out += cat(i == 0 ? "" : ", ", quoted(keys[i]));
    if (shown < keys.size()) out += cat(" and ", keys.size() - shown, " more");
    return out;
}

void fail_timed_out(std::string_view operation, Store::Keys keys, std::string_view where) {
    throw Error(TUTTI_ERR_TIMEOUT,
                cat(operation, " of ", keys_text(keys), " at the ", where, ": timed out"));
}

int64_t add_to_counter(const std::string& key, const std::string& value, int64_t amount) {
    int64_t counter = 0;
    const char* end = value.data() + value.size();
    const auto [last, problem] = std::from_chars(value.data(), end, counter);
    if (problem != std::errc() || last != end)
        throw Error(TUTTI_ERR_STORE, cat("add to ", key_text(key), ": its value is not a number"));
    int64_t sum = 0;
    if (__builtin_add_overflow(counter, amount, &sum))
        throw Error(TUTTI_ERR_STORE, cat("add to ", key_text(key), ": ", counter, " + ", amount,
                                         " does not fit into 64 bits"));
    return sum;
}

}  // namespace tutti
