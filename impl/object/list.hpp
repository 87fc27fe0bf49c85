// Several values as what travels between ranks: how many, how long each is, and their messages,
// each of which begins at a multiple of 8. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/block.hpp"
#include "message.hpp"

namespace tutti {

using ObjectPointer = std::shared_ptr<const Object>;

std::string pack_list(std::span<const ObjectPointer> objects, const ObjectSettings& settings);

// Exactly so many; throws INVALID_ARGUMENT with the byte where it goes wrong. The objects keep the
// memory.
std::vector<ObjectPointer> unpack_list(OwnedBytes list, size_t count,
                                       const ObjectSettings& settings);

// How long a list within the limits can be. None is as long as one, so that who expects none and is
// sent some reads how many they are.
size_t max_list(size_t count, const ObjectSettings& settings);

}  // namespace tutti
