// tutti/error.h. Plain data; works in a forked child too. Any thread.
#include "tutti/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

extern "C" {

void tutti_error_init(tutti_error* error, size_t size) {
    if (error == nullptr || size < offsetof(tutti_error, message)) return;
    const auto written = static_cast<uint32_t>(std::min(size, sizeof *error));
    std::memset(static_cast<void*>(error), 0, written);
    error->struct_size = written;
    error->rank = -1;
}

const char* tutti_status_name(tutti_status status) {
    switch (status) {
        case TUTTI_OK:
            return "TUTTI_OK";
        case TUTTI_ERR_INVALID_ARGUMENT:
            return "TUTTI_ERR_INVALID_ARGUMENT";
        case TUTTI_ERR_INVALID_HANDLE:
            return "TUTTI_ERR_INVALID_HANDLE";
        case TUTTI_ERR_UNSUPPORTED:
            return "TUTTI_ERR_UNSUPPORTED";
        case TUTTI_ERR_TIMEOUT:
            return "TUTTI_ERR_TIMEOUT";
        case TUTTI_ERR_ABORTED:
            return "TUTTI_ERR_ABORTED";
        case TUTTI_ERR_PEER_LOST:
            return "TUTTI_ERR_PEER_LOST";
        case TUTTI_ERR_MISMATCH:
            return "TUTTI_ERR_MISMATCH";
        case TUTTI_ERR_BACKEND:
            return "TUTTI_ERR_BACKEND";
        case TUTTI_ERR_NETWORK:
            return "TUTTI_ERR_NETWORK";
        case TUTTI_ERR_STORE:
            return "TUTTI_ERR_STORE";
        case TUTTI_ERR_QUEUE_EMPTY:
            return "TUTTI_ERR_QUEUE_EMPTY";
        case TUTTI_ERR_OUT_OF_MEMORY:
            return "TUTTI_ERR_OUT_OF_MEMORY";
        case TUTTI_ERR_INTERNAL:
            return "TUTTI_ERR_INTERNAL";
        case TUTTI_ERR_PENDING:
            return "TUTTI_ERR_PENDING";
        default:
            return "TUTTI_ERR_UNKNOWN";
    }
}

}  // extern "C"
