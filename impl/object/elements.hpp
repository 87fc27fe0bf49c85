// Many numbers between typed memory and a list, with one call. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "builder.hpp"
#include "object.hpp"

namespace tutti {

// Adds `count` elements to the list that is open. Throws INVALID_ARGUMENT for a dtype that no list
// can hold.
void add_elements(Builder& builder, const void* data, size_t count, tutti_dtype dtype);

// Writes the values of a list from index `first` on. Throws INVALID_ARGUMENT, naming the index,
// before anything is written if one is no number or does not fit.
void get_elements(const Object& object, size_t list, uint64_t first, size_t count,
                  tutti_dtype dtype, void* out);

}  // namespace tutti
