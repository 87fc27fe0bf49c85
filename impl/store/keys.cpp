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

void check_count(size_t count, const StoreLimits& limits) {
    if (count > limits.keys_per_request)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(count, " keys in one call; at most ",
                                                    limits.keys_per_request, " are possible"));
}

void check_total(size_t bytes, const StoreLimits& limits) {
    if (bytes > limits.request_bytes())
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("the keys and values of one call have ", bytes, " bytes; at most ",
                        limits.request_bytes(), " are possible"));
}

}  // namespace

void check_key(const std::string& key, const StoreLimits& limits) {
    if (key.size() > limits.key_bytes)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat(key_text(key), " has ", key.size(), " bytes; at most ", limits.key_bytes,
                        " are possible"));
}

void check_keys(Store::Keys keys, const StoreLimits& limits) {
    check_count(keys.size(), limits);
    size_t total = 0;
    for (const std::string& key : keys) {
        check_key(key, limits);
        total += key.size();
    }
    check_total(total, limits);
}

void check_pair(const std::string& key, size_t value_bytes, const StoreLimits& limits) {
    check_key(key, limits);
    if (value_bytes > limits.value_bytes)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("the value of ", key_text(key), " has ", value_bytes, " bytes; at most ",
                        limits.value_bytes, " are possible"));
}

void check_pairs(Store::Pairs pairs, const StoreLimits& limits) {
    check_count(pairs.size(), limits);
    size_t total = 0;
    for (const auto& [key, value] : pairs) {
        check_pair(key, value.size(), limits);
        total += key.size() + value.size();
    }
    check_total(total, limits);
}

void check_barrier(const std::string& key, int64_t world_size, const StoreLimits& limits) {
    check_key(key, limits);
    if (world_size < 1)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("barrier of ", key_text(key), ": world_size is ", world_size,
                        "; it must be 1 or more"));
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

void fail_wait(std::string_view operation, Store::Keys keys, std::string_view where,
               const WaitLimit& limit) {
    const std::string of_keys = keys.empty() ? "" : cat(" of ", keys_text(keys));
    const std::string what = cat(operation, of_keys, " at the ", where);
    if (limit.interrupted())
        throw Error(TUTTI_ERR_ABORTED, cat(what, ": the wait was interrupted"));
    throw Error(TUTTI_ERR_TIMEOUT, cat(what, ": timed out"));
}

void fail_queue_empty(const std::string& key, std::string_view where) {
    throw Error(TUTTI_ERR_QUEUE_EMPTY,
                cat("queue_pop of ", key_text(key), " at the ", where, ": the queue is empty"));
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
