// Values that other ranks get as the bytes that they have here: all ranks have one build of the
// library. Padding would go with them, with whatever lay there; so a struct that has some does not
// compile here, and names it as a field that is zero.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "bytes.hpp"

namespace tutti {

template <typename Value>
concept Plain =
    std::is_trivially_copyable_v<Value> && std::has_unique_object_representations_v<Value>;

template <Plain Value>
ConstBytes wire_bytes(const Value& value) {
    return std::as_bytes(std::span(&value, 1));
}

}  // namespace tutti
