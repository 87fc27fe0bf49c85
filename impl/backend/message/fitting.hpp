// Whether a message is what its receive wants.
#pragma once

#include <cstdint>

#include "backend/call/message.hpp"
#include "base/status.hpp"

namespace tutti {

// MISMATCH, showing both sides, if the message of `source` is another one than `call` receives. Its
// numbers are as they came.
Status check_fit(const Receive& call, Content content, int64_t count, tutti_dtype dtype,
                 int source);

// The deadline of a receive that no message was found for has passed, or that of a send whose
// receiver has not taken it.
Status timed_out(const Receive& call);
Status timed_out(const Send& call);

}  // namespace tutti
