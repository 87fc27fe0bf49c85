// MessagePack as a value. Nothing in it is believed: counts are checked against the bytes that are
// left and against the limits before memory is taken; no recursion. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/block.hpp"
#include "builder.hpp"

namespace tutti {

// Throw INVALID_ARGUMENT with the byte where it goes wrong. All of the message is one value.

// Strings, bytes and arrays stay in the message, whose memory the object keeps; one more byte
// behind it may be written too.
std::shared_ptr<const Object> decode(std::span<std::byte> message,
                                     std::shared_ptr<const void> memory, const Builder::Most& most);
std::shared_ptr<const Object> decode(OwnedBytes message, const Builder::Most& most);
// Bytes and arrays stay in the message, which is the caller's and outlives the object.
std::shared_ptr<const Object> decode_borrowed(std::span<const std::byte> message,
                                              const Builder::Most& most);

}  // namespace tutti
