// The result of an operation, as a value. Travels up through Work; becomes a tutti_error at the C
// boundary. Plain data, any thread.
#pragma once

#include <string>
#include <utility>

#include "tutti/types.h"

namespace tutti {

struct Status {
    tutti_status code = TUTTI_OK;
    int rank = -1;         // group rank at fault, or -1
    int system_errno = 0;  // of the system call behind it, or 0
    std::string message;   // one sentence
    // This process ran out of descriptors, memory or the like: whomever the operation was about is
    // not at fault. Told to no other process.
    bool is_own_exhaustion = false;

    [[nodiscard]] bool ok() const { return code == TUTTI_OK; }
};

}  // namespace tutti
