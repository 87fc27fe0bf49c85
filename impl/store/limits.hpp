// Every maximum of the stores, in one place.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tutti {

// The limits of a server; its clients are told and keep them. The defaults are every store's.
struct StoreLimits {
    // The length of a key as the caller gives it, prefixes included. On the wire and in files "/"
    // comes before it.
    size_t key_bytes = 8 * 1024;
    size_t value_bytes = size_t{1} << 30;
    size_t keys_per_request = 128 * 1024;
    size_t connections = 64 * 1024;
    // Keys, values, half requests, requests behind waits and unread answers, together.
    size_t memory_bytes = size_t{4} << 30;

    // All keys and values of one request, or of one answer.
    [[nodiscard]] size_t request_bytes() const { return std::max(value_bytes, size_t{1} << 30); }

    bool operator==(const StoreLimits&) const = default;
};

namespace store_limits {

// For making a store and for its calls, unless the caller says otherwise.
constexpr int64_t default_timeout_ms = 300'000;

// The most that a server can be told to take.
constexpr size_t max_key_bytes = size_t{1} << 20;
constexpr size_t max_value_bytes = size_t{1} << 40;
constexpr size_t max_keys_per_request = size_t{1} << 24;
constexpr size_t max_connections = size_t{1} << 24;
constexpr size_t max_memory_bytes = size_t{1} << 50;

// The limits of PyTorch's server over libuv; without libuv it has none.
constexpr StoreLimits pytorch = {
    .key_bytes = 8 * 1024 - 1, .value_bytes = size_t{8} << 20, .keys_per_request = 128 * 1024};

// The length of a key of the protocol's own.
constexpr size_t own_key_bytes = 128;
// The memory that a key or a value costs beside its bytes.
constexpr size_t entry_overhead = 128;
// The length of a counter's value, at most.
constexpr size_t number_text_bytes = 20;
// Answers are handed to the socket when this much has gathered, at the latest.
constexpr size_t gathered_answer_bytes = size_t{64} << 10;
// The bytes of half a request that each client may hold though the server is full.
constexpr size_t admitted_bytes = size_t{64} << 10;
// A client that asks for more while this much of earlier answers is unread is cut off.
constexpr size_t unread_answer_bytes = size_t{64} << 20;
// Requests that a client may send behind a wait that is not over.
constexpr size_t requests_behind_wait = 16;
// Clients whom a full server still tells that it is full.
constexpr size_t turned_away_at_once = 64;
// The time that one of them has to say what it is, where there is no descriptor for the next.
constexpr int64_t introduction_ms = 1000;
// Clients whose refusal's reason a server remembers.
constexpr size_t refusals_remembered = 256;

// How often a file is opened anew that was removed or replaced by the time it was locked.
constexpr int file_openings = 100;
// The length of the prefix that tutti may put before a key in a file.
constexpr size_t file_key_overhead = 64;

// A connection that was found sound is believed to be for so long, before what has no answer is
// sent on it. If it is not, the next call says so.
constexpr std::chrono::milliseconds sound_for{1};
// A server lets requests that have no answer gather, until so many in a row had one.
constexpr uint64_t answers_until_prompt = 4;
// Connections for waits that a client keeps when nobody is waiting.
constexpr size_t idle_wait_connections = 8;
// A client whose time is up takes this long to learn whether it was given a queue's value in the
// last moment, or why it was refused; one that is interrupted, for an answer that is under way.
constexpr int last_word_ms = 1'000;
// Connections the kernel holds until the server accepts them; it cuts this to its own maximum.
constexpr int listen_backlog = 16 * 1024;

// Keys that an error message names before it only counts.
constexpr size_t keys_in_message = 8;
constexpr size_t key_bytes_in_message = 128;

}  // namespace store_limits
}  // namespace tutti
