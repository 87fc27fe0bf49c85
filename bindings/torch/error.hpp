// A failure of tutti as the exception of PyTorch that means the same (tutti/types.h names it).
#pragma once

#include <tutti/error.h>

#include <exception>

namespace tutti_torch {

inline tutti_error no_error() {
    tutti_error error = TUTTI_ERROR_INIT;
    return error;
}

[[noreturn]] void raise(tutti_status status, const tutti_error& error);

inline void check(tutti_status status, const tutti_error& error) {
    if (status != TUTTI_OK) [[unlikely]]
        raise(status, error);
}

std::exception_ptr exception_of(tutti_status status, const tutti_error& error) noexcept;

}  // namespace tutti_torch
