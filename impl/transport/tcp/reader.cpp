#include "reader.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

namespace tutti::tcp {

namespace {

// While a message has more to come nothing is read ahead.
constexpr size_t short_rest = 2048;

// For one piece the kernel takes three quarters of the time.
ssize_t read_from(int socket, std::span<iovec> pieces) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    for (;;) {
        const ssize_t got =
            pieces.size() == 1 ? ::recv(socket, pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT)
                               : ::recvmsg(socket, &message, MSG_DONTWAIT);
        if (got >= 0 || errno != EINTR) return got;
    }
}

}  // namespace

std::byte* Incoming::into() const {
    const size_t done = head.length - left;
    if (Request* const* const request = std::get_if<Request*>(&receiver)) {
        return (*request)->data + done;
    }
    if (Arrival* const* const arrival = std::get_if<Arrival*>(&receiver)) {
        return (*arrival)->data.get() + done;
    }
    Accepted* const* const part = std::get_if<Accepted*>(&receiver);
    if (part == nullptr || (*part)->request == nullptr) return nullptr;
    return (*part)->request->data + head.slot + done;
}

Reader::Read Reader::read(int socket) {
    std::array<iovec, 2> pieces;
    size_t count = 0;
    size_t direct = 0;
    size_t space = 0;
    const auto add = [&](std::byte* data, size_t bytes) {
        pieces[count++] = {data, bytes};
        space += bytes;
    };
    if (awaits_data()) {
        if (std::byte* const into = message_->into()) add(into, direct = message_->left);
    }
    if (direct <= short_rest) add(buffer_->data() + end_, buffer_->size() - end_);
    const ssize_t got = read_from(socket, std::span(pieces).first(count));
    Read result;
    if (got <= 0) {
        result.is_socket_empty = true;
        result.has_ended = got == 0;
        if (got < 0 && errno != EAGAIN) result.error = errno;
        return result;
    }
    result.bytes = static_cast<size_t>(got);
    result.is_socket_empty = result.bytes < space;
    direct = std::min(direct, result.bytes);
    if (direct > 0) message_->left -= direct;
    end_ += result.bytes - direct;
    return result;
}

void Reader::fill_from_buffer(Incoming& message) {
    const size_t bytes = std::min(message.left, end_ - begin_);
    if (bytes == 0) return;
    if (std::byte* const into = message.into()) {
        std::memcpy(into, buffer_->data() + begin_, bytes);
    }
    begin_ += bytes;
    message.left -= bytes;
}

void Reader::compact() {
    std::memmove(buffer_->data(), buffer_->data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
}

}  // namespace tutti::tcp
