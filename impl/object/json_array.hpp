// An array as JSON: a map of dtype, shape and data. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "node.hpp"

namespace tutti::json {

// On one line; the data stop with "..." once `out` is `limit` bytes long.
void append_array(std::string& out, const Array& array, size_t count, size_t limit);

}  // namespace tutti::json
