#include "stripe.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace tutti::tcp {

Stripe::Stripe(net::Socket socket, const std::optional<membership::Token>& proof,
               StripeOwner& owner)
    : socket_(std::move(socket)), proof_(proof), owner_(owner) {}

void Stripe::close() {
    fault_ = "it was given up";
    socket_.close();
}

bool Stripe::send() {
    if (is_broken()) return false;
    if (!is_sending_) {
        const auto next = is_usable() ? owner_.next_part() : std::nullopt;
        if (!next) return false;
        sending_ = *next;
        is_sending_ = true;
        head_sent_ = 0;
    }
    const std::array<iovec, 2> pieces{
        iovec{reinterpret_cast<std::byte*>(&sending_.head) + head_sent_,
              sizeof sending_.head - head_sent_},
        iovec{const_cast<std::byte*>(sending_.data.data()), sending_.data.size()}};
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno != EAGAIN) fault_ = errno_text(errno);
        return false;
    }
    const size_t of_head = std::min(static_cast<size_t>(sent), sizeof sending_.head - head_sent_);
    head_sent_ += of_head;
    sending_.data = sending_.data.subspan(static_cast<size_t>(sent) - of_head);
    if (head_sent_ < sizeof sending_.head || !sending_.data.empty()) return true;
    is_sending_ = false;
    if (Divided* const of = std::exchange(sending_.of, nullptr)) owner_.sent(*of);
    return true;
}

// A part's data straight to where they belong, and the next head behind them.
bool Stripe::receive() {
    std::array<std::byte, 4096> nowhere;
    for (size_t moved = 0; !is_broken() && !has_ended_;) {
        std::array<iovec, 2> pieces;
        size_t count = 0;
        size_t room = 0;
        const auto add = [&](void* data, size_t bytes) {
            pieces[count++] = {data, bytes};
            room += bytes;
        };
        if (arriving_.left > 0) {
            std::byte* const into = arriving_.into();
            add(into != nullptr ? into : nowhere.data(),
                into != nullptr ? arriving_.left : std::min(arriving_.left, nowhere.size()));
        }
        const size_t of_data = room;
        const size_t wanted = is_proved_ || !proof_ ? sizeof(Head) : proof_->size();
        if (of_data == arriving_.left) add(head_.data() + head_got_, wanted - head_got_);
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = count;
        const ssize_t got = ::recvmsg(socket(), &message, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return moved > 0;
        if (got <= 0) {
            if (got < 0) fault_ = errno_text(errno);
            if (got == 0) end();
            return moved > 0;
        }
        moved += static_cast<size_t>(got);
        const size_t data = std::min(static_cast<size_t>(got), of_data);
        arriving_.pass(data);
        head_got_ += static_cast<size_t>(got) - data;
        if (arriving_.left == 0 && !parse() && !is_broken()) fault_ = "a part was malformed";
        if (static_cast<size_t>(got) < room || moved >= max_at_once) return true;
    }
    return false;
}

// Inside something it is a fault.
void Stripe::end() {
    has_ended_ = true;
    if (arriving_.left > 0 || head_got_ > 0) fault_ = "the connection was closed";
}

bool Stripe::take_proof() {
    if (head_got_ < proof_->size()) return true;
    is_proved_ = std::memcmp(head_.data(), proof_->data(), proof_->size()) == 0;
    head_got_ = 0;
    sending_.head.kind = Kind::Credit;
    is_sending_ = is_proved_;
    return is_proved_;
}

// The part before has ended. False: what comes next is none.
bool Stripe::parse() {
    if (Accepted* const of = std::exchange(arriving_.of, nullptr)) {
        owner_.end_part(*of, part_length_);
        if (is_broken()) return false;
    }
    if (!is_proved_ && proof_) return take_proof();
    if (head_got_ < sizeof(Head)) return true;
    Head head;
    std::memcpy(&head, head_.data(), sizeof head);
    head_got_ = 0;
    if (!is_proved_) return is_proved_ = head.kind == Kind::Credit;
    const auto begun = owner_.begin_part(head);
    if (!begun) return false;
    arriving_ = *begun;
    part_length_ = head.length;
    return true;
}

void Stripe::move_data(const Divided& of, const std::byte* from, const std::byte* to) {
    if (!is_sending_ || sending_.of != &of) return;
    sending_.data = {to + (sending_.data.data() - from), sending_.data.size()};
}

}  // namespace tutti::tcp
