// Faults that the boundary itself refuses: a NULL pointer, a stale handle, a number out of range.
// The guard puts the function's name before the sentence, as it does for every fault of an
// argument, and for all else where the engine does not name the operation. Any thread.
#pragma once

#include "base/error.hpp"

namespace tutti::capi {

class Refusal : public Error {
public:
    using Error::Error;
};

template <typename... Pieces>
[[noreturn]] void refuse(const Pieces&... pieces) {
    throw Refusal(TUTTI_ERR_INVALID_ARGUMENT, cat(pieces...));
}

}  // namespace tutti::capi
