// Where the data of a message go. Under the lock of the Messages.
#include "operation.hpp"

#include "backend/message/fitting.hpp"
#include "base/error.hpp"

namespace tutti::shm {

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

}  // namespace tutti::shm
