// tutti_buffer, checked, as the views that calls carry. Any thread.
#pragma once

#include "backend/call/view.hpp"
#include "tutti/types.h"

namespace tutti::capi {

// Throws INVALID_ARGUMENT or UNSUPPORTED naming the field, for instance "output.count is -3".
View read_buffer(const tutti_buffer* buffer, const char* argument);

// The input of a reduction: NULL takes `output` itself. Refuses what does not fit to `output`.
ConstView read_input(const tutti_buffer* input, const View& output);

}  // namespace tutti::capi
