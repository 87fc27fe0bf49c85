// A value as the message that travels, compressed if that pays, and back. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "block.hpp"
#include "object.hpp"
#include "settings.hpp"

namespace tutti {

// Throws INVALID_ARGUMENT for a value beyond the limits: who reads it has the same, mostly.
std::string pack(const Object& object, const ObjectSettings& settings);

// Throw INVALID_ARGUMENT with the byte where it goes wrong. The second one leaves bytes and arrays
// in the message if it is not compressed; the message outlives the object then.
std::shared_ptr<const Object> unpack(Message message, const ObjectSettings& settings);
std::shared_ptr<const Object> unpack_borrowed(std::span<const std::byte> message,
                                              const ObjectSettings& settings);
// Of a message in memory of the caller, copied.
std::shared_ptr<const Object> unpack_copied(std::span<const std::byte> message,
                                            const ObjectSettings& settings);

}  // namespace tutti
