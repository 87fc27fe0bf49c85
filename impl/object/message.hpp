// A value as the message that travels, compressed if that pays, and back. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/block.hpp"
#include "object.hpp"
#include "settings.hpp"

namespace tutti {

// Throws INVALID_ARGUMENT for a value beyond the limits: who reads it has the same, mostly.
std::string pack(const Object& object, const ObjectSettings& settings);
// Behind what is there.
void pack(const Object& object, const ObjectSettings& settings, std::string& out);

// Throw INVALID_ARGUMENT with the byte where it goes wrong.

// Unpacks a message that the object may keep, with one more byte behind it.
std::shared_ptr<const Object> unpack(std::span<std::byte> message,
                                     const std::shared_ptr<const void>& memory,
                                     const ObjectSettings& settings);
// Bytes and arrays stay in the message if it is not compressed; it outlives the object then.
std::shared_ptr<const Object> unpack_borrowed(std::span<const std::byte> message,
                                              const ObjectSettings& settings);
// Unpacks a copy of a message in memory of the caller.
std::shared_ptr<const Object> unpack_copied(std::span<const std::byte> message,
                                            const ObjectSettings& settings);

}  // namespace tutti
