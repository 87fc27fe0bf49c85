// The one exception of the engine: a Status on its way down to the caller. Callers, peers and
// the system are at fault; our own mistakes are assertions (assert.hpp). Any thread.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "status.hpp"
#include "text.hpp"

namespace tutti {

class Error : public std::exception {
public:
    explicit Error(Status status) : status_(std::move(status)) {}
    Error(tutti_status code, std::string message, int rank = -1, int system_errno = 0)
        : status_{code, rank, system_errno, std::move(message)} {}

    [[nodiscard]] const Status& status() const { return status_; }
    [[nodiscard]] const char* what() const noexcept override { return status_.message.c_str(); }

private:
    Status status_;
};

// Throws INVALID_ARGUMENT with the sentence that the pieces make.
template <typename... Pieces>
[[noreturn]] void refuse(const Pieces&... pieces) {
    throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat(pieces...));
}

// The Status of whatever exception is in flight; call it only inside a catch block.
Status current_status() noexcept;

// A failure that makes this rank stop, as other ranks are told it: ABORTED for a timeout, which is
// not theirs; this rank's fault, unless the failure names another one.
Status gave_up(int own_rank, const Status& why);

// "Connection refused (ECONNREFUSED)" for an errno.
std::string errno_text(int number);

}  // namespace tutti
