// tutti_buffer, checked, as the views that calls carry. Any thread.
#pragma once

#include "base/argument.hpp"
#include "call/view.hpp"
#include "tutti/types.h"

namespace tutti::capi {

// Throws INVALID_ARGUMENT or UNSUPPORTED naming the field, for instance "output.count is -3".
View read_buffer(const tutti_buffer* buffer, const char* argument);
View read_buffer(const tutti_buffer& buffer, const Argument& argument);

// Throws UNSUPPORTED or INVALID_ARGUMENT naming the field of `owner`.
void check_device(tutti_device_type type, int32_t index, const Argument& owner);

// A list of them, "outputs[2].count is -3"; NULL if it has none. Whether their number is right the
// call checks.
Views read_buffers(const tutti_buffer* buffers, size_t count, const char* argument);

tutti_buffer buffer_of(const View& view);

}  // namespace tutti::capi
