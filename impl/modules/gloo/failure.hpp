// The functions of the module throw a Failure, and those of the table report it. It is plain data,
// for any thread.
#pragma once

#include <tutti/ext.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace tutti::gloo_module {

struct Failure {
    tutti_status status = TUTTI_OK;
    std::string why{};
    int rank = -1;     // at fault; -1: unknown
    int awaited = -1;  // by the wait that was ended; -1: none
    int number = 0;    // errno
};

inline tutti_status report(const Failure& failure, tutti_error* error) noexcept {
    if (error != nullptr) {
        error->rank = failure.rank;
        error->system_errno = failure.number;
        const size_t length = std::min(failure.why.size(), sizeof error->message - 1);
        std::memcpy(error->message, failure.why.data(), length);
        error->message[length] = '\0';
    }
    return failure.status;
}

// Where there is no membership, a connection that closes is the loss of the rank at its other end.
inline Failure as_lost(Failure failure) {
    if (failure.status == TUTTI_ERR_NETWORK) failure.status = TUTTI_ERR_PEER_LOST;
    return failure;
}

}  // namespace tutti::gloo_module
