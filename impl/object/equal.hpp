// Compares two values. Any thread.
#pragma once

#include "object.hpp"

namespace tutti {

// Integers by value, float64 by their bits, maps whatever the order of their keys. Linear; no
// recursion.
bool equal(const Object& a, size_t node_a, const Object& b, size_t node_b);

}  // namespace tutti
