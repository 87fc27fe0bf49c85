// Keys and counters, alike for all stores: limits, their text in messages, common errors. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "limits.hpp"
#include "store.hpp"

namespace tutti {

// Throws INVALID_ARGUMENT for what is beyond the limits: a key, a number of keys, a value, or the
// sum of several.
void check_key(const std::string& key, const StoreLimits& limits = {});
void check_keys(Store::Keys keys, const StoreLimits& limits = {});
void check_pair(const std::string& key, size_t value_bytes, const StoreLimits& limits = {});
void check_pairs(Store::Pairs pairs, const StoreLimits& limits = {});
// Throws INVALID_ARGUMENT unless there can be so many callers of a barrier.
void check_barrier(const std::string& key, int64_t world_size, const StoreLimits& limits = {});

// `key "a"`, `keys "a", "b"`, `keys "a", ... and 3 more`; bytes that are no text as \x00.
std::string key_text(const std::string& key);
std::string keys_text(Store::Keys keys);

// Ends a call whose wait is over. TIMEOUT: `get of key "a" at the hash store: timed out`; ABORTED
// if it was interrupted.
[[noreturn]] void fail_wait(std::string_view operation, Store::Keys keys, std::string_view where,
                            const WaitLimit& limit);
// QUEUE_EMPTY: `queue_pop of key "a" at the hash store: the queue is empty`.
[[noreturn]] void fail_queue_empty(const std::string& key, std::string_view where);

// The counter in a value, plus `amount`. Throws STORE if the value is not a whole number or the sum
// leaves 64 bits.
int64_t add_to_counter(const std::string& key, const std::string& value, int64_t amount);

}  // namespace tutti
