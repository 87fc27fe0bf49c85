#include "error.hpp"

#include <c10/util/Exception.h>

#include <string>

namespace tutti_torch {
namespace {

void replace(std::string& text, const std::string& words, const std::string& by) {
    const size_t at = text.find(words);
    if (at != std::string::npos) text.replace(at, words.size(), by);
}

// Programs look for these words of PyTorch's in a message, and so do PyTorch's own tests.
void use_words_of_torch(std::string& text) {
    replace(text, ": timed out ", ": Timed out ");
    if (text.find("failed to pass the monitored barrier") == std::string::npos) return;
    replace(text, "): rank", "): Rank");
    replace(text, "failed to pass the monitored barrier", "failed to pass monitoredBarrier");
}

}  // namespace

void raise(tutti_status status, const tutti_error& error) {
    std::string text = error.message[0] != '\0' ? error.message : tutti_status_name(status);
    use_words_of_torch(text);
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
