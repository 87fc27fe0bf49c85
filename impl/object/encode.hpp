// A value as MessagePack. Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "object.hpp"

namespace tutti {

// Where bytes go, piece by piece.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void write(std::span<const std::byte> piece) = 0;
};

// How long the encoded value is. Throws INVALID_ARGUMENT, naming the node, for what MessagePack
// cannot carry. Touches no string, bytes or array.
size_t encoded_size(const Object& object);

// Writes it; what is large is not copied on the way.
void encode(const Object& object, Sink& sink);

}  // namespace tutti
