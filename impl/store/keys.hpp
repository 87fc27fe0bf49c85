// What all stores say about keys and counters: limits, their text in messages, common errors. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store.hpp"

namespace tutti {

// Throws INVALID_ARGUMENT for a key, or a number of keys, beyond the limits.
void check_key(const std::string& key);
void check_keys(Store::Keys keys);
void check_pairs(Store::Pairs pairs);

// `key "a"`, `keys "a", "b"`, `keys "a", ... and 3 more`; bytes that are no text as \x00.
std::string key_text(const std::string& key);
std::string keys_text(Store::Keys keys);

// TIMEOUT: `get of key "a" at the hash store: timed out`.
[[noreturn]] void fail_timed_out(std::string_view operation, Store::Keys keys,
                                 std::string_view where);

// The counter in a value, plus `amount`. Throws STORE if the value is not a whole number or the sum
// leaves 64 bits.
int64_t add_to_counter(const std::string& key, const std::string& value, int64_t amount);

}  // namespace tutti
