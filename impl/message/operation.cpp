// Errors of messages that fail, and the delivery of the others.
#include "operation.hpp"

#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "queues.hpp"

namespace tutti::message {

namespace {

bool fits(const Receive& call, Content content, int64_t count, tutti_dtype dtype) {
    if (content != call.content) return false;
    if (content == Content::Elements) {
        return count == call.buffer.count && dtype == call.buffer.dtype;
    }
    return dtype == TUTTI_UINT8 && count >= 0 && static_cast<uint64_t>(count) <= call.max_bytes;
}

// MISMATCH, showing both sides, if the message of `source` is another one than `call` receives. Its
// numbers are as they came.
Status check_fit(const Receive& call, Content content, int64_t count, tutti_dtype dtype,
                 int source) {
    if (fits(call, content, count, dtype)) return {};
    std::string wanted = call.content == Content::Objects ? "objects" : "bytes";
    if (call.content == Content::Elements) {
        wanted = describe_message(call.content, call.buffer.count, call.buffer.dtype);
    } else if (call.content == content) {
        wanted += cat(", ", call.max_bytes, " bytes at most");
    }
    return {TUTTI_ERR_MISMATCH, source, 0,
            cat("rank ", source, " sent ", describe_message(content, count, dtype),
                " where this receive is ", wanted)};
}

}  // namespace

Status timed_out(const Receive& call) {
    const std::string who = call.source == any_source ? "any rank" : cat("rank ", call.source);
    return {TUTTI_ERR_TIMEOUT, call.source, 0, cat("timed out waiting for a message of ", who)};
}

Status timed_out(const Send& call) {
    return {TUTTI_ERR_TIMEOUT, call.destination, 0,
            cat("timed out: rank ", call.destination, " did not receive it")};
}

void Sending::post(Queues& queues) {
    queues.post(*this);
}

void Sending::time_out(Queues& queues) {
    queues.time_out(*this);
}

void Receiving::post(Queues& queues) {
    queues.post(*this);
}

void Receiving::time_out(Queues& queues) {
    queues.time_out(*this);
}

Status Receiving::make_room(Content content, int64_t count, tutti_dtype dtype, int from) noexcept {
    try {
        Status misfit = check_fit(call, content, count, dtype, from);
        if (!misfit.ok()) return misfit;
        if (content == Content::Elements) {
            room = call.buffer.bytes();
        } else {
            bytes_ = OwnedBytes(static_cast<size_t>(count));
            room = bytes_.bytes();
        }
        return {};
    } catch (...) {
        return current_status();
    }
}

void Receiving::deliver(int from) noexcept {
    if (call.content == Content::Elements) return;
    call.incoming->bytes = std::move(bytes_);
    call.incoming->source = from;
}

}  // namespace tutti::message
