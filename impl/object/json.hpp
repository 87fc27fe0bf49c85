// A value as JSON, for people. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "object.hpp"

namespace tutti {

struct JsonStyle {
    size_t indent = 0;  // 0: one line; else spaces for each level
    size_t limit = 0;   // bytes from which on "..." stands for the rest; 0: none
};

// Linear, no recursion. What JSON does not have becomes a string, an array a map of dtype, shape
// and data.
std::string to_json(const Object& object, size_t node, const JsonStyle& style);

}  // namespace tutti
