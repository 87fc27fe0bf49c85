#include "error.hpp"

#include <c10/util/Exception.h>

#include <string>

namespace tutti_torch {

void raise(tutti_status status, const tutti_error& error) {
    const std::string text =
        error.message[0] != '\0' ? std::string(error.message) : tutti_status_name(status);
    switch (status) {
        case TUTTI_ERR_INVALID_ARGUMENT:
        case TUTTI_ERR_INVALID_HANDLE:
            C10_THROW_ERROR(ValueError, text);
        case TUTTI_ERR_UNSUPPORTED:
            C10_THROW_ERROR(NotImplementedError, text);
        case TUTTI_ERR_NETWORK:
            C10_THROW_ERROR(DistNetworkError, text);
        case TUTTI_ERR_STORE:
            C10_THROW_ERROR(DistStoreError, text);
        case TUTTI_ERR_OUT_OF_MEMORY:
            C10_THROW_ERROR(OutOfMemoryError, text);
        case TUTTI_ERR_MISMATCH:
        case TUTTI_ERR_INTERNAL:
            C10_THROW_ERROR(DistError, text);
        default:
            C10_THROW_ERROR(DistBackendError, text);
    }
}

std::exception_ptr exception_of(tutti_status status, const tutti_error& error) noexcept {
    try {
        raise(status, error);
    } catch (...) {
        return std::current_exception();
    }
}

}  // namespace tutti_torch
