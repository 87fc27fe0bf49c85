// Every maximum of the stores, in one place.
#pragma once

#include <cstddef>

namespace tutti::store_limits {

// Of a key as the caller gives it, prefixes included. On the wire and in files "/" comes before it.
constexpr size_t key_bytes = 8 * 1024;
constexpr size_t wire_key_bytes = key_bytes + 1;
// Keys in one request.
constexpr size_t keys_per_request = 128 * 1024;
// All keys and values of one request, or of one answer. PyTorch's own server takes 8 MiB.
constexpr size_t request_bytes = size_t{1} << 30;
// A client that asks for more while this much of earlier answers is unread is cut off.
constexpr size_t unread_answer_bytes = size_t{64} << 20;
// Requests that a client may send behind a wait that is not over.
constexpr size_t requests_behind_wait = 16;
// Connections for waits that a client keeps when nobody is waiting.
constexpr size_t idle_wait_connections = 8;
// Connections the kernel holds until the server accepts them; it cuts this to its own maximum.
constexpr int listen_backlog = 16 * 1024;
// Keys that an error message names before it only counts.
constexpr size_t keys_in_message = 8;
constexpr size_t key_bytes_in_message = 128;

}  // namespace tutti::store_limits
