#include "outbound.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "mailbox.hpp"
#include "stripes.hpp"

namespace tutti::tcp {

namespace {

// The kernel takes one piece faster than several, so short ones are put together.
ssize_t send_to(int socket, std::span<iovec> pieces, size_t bytes) {
    constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    std::array<std::byte, 512> together;
    if (bytes > together.size()) {
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = pieces.size();
        return ::sendmsg(socket, &message, flags);
    }
    std::byte* end = together.data();
    for (const iovec& piece : pieces) {
        end = std::copy_n(static_cast<const std::byte*>(piece.iov_base), piece.iov_len, end);
    }
    return ::send(socket, together.data(), bytes, flags);
}

// The rest of that frame goes from a copy. False: no memory is left.
bool copy_rest(Frame& frame) noexcept {
    frame.copy.reset(new (std::nothrow) std::byte[frame.data.size()]);
    if (!frame.copy) return false;
    std::ranges::copy(frame.data, frame.copy.get());
    frame.data = {frame.copy.get(), frame.data.size()};
    frame.request = nullptr;
    return true;
}

// Announcements end in their order, and parts come in any.
bool may_be_divided(const Request& send, size_t max_part) {
    return send.bytes >= 2 * max_part && !send.slot.is_announcement();
}

}  // namespace

// Frames.

// Null: nothing is sent any more.
Frame* Outbound::push_frame(const Head& head, Turn turn) {
    if (is_closed_) return nullptr;
    Frame& frame = frames_.push(head, turn);
    frame.head.credit = credit_.take_owed();
    return &frame;
}

void Outbound::push(const Head& head) {
    push_frame(head, Turn::BeforeLongData);
}

void Outbound::push(const Head& head, Request& request, Turn turn) {
    Frame* const frame = push_frame(head, turn);
    if (frame == nullptr) return;
    frame->request = &request;
    frame->data = {request.data, request.bytes};
    request.link = &link_;
    request.frame = frame;
}

void Outbound::say(Kind kind, uint32_t id, uint32_t group) {
    Head head{};
    head.group = group;
    head.id = id;
    head.kind = kind;
    push(head);
}

void Outbound::say_taken(uint32_t id) {
    if (id != 0) say(Kind::Taken, id);
}

void Outbound::say_goodbye(uint32_t group) {
    Head head{};
    head.group = group;
    head.kind = Kind::Goodbye;
    push_frame(head, Turn::Last);
}

void Outbound::take_back_sent(uint32_t group, Slot slot) {
    Head head{};
    head.slot = slot.value();
    head.group = group;
    head.kind = Kind::TakeBack;
    push(head);
}

void Outbound::owe(uint64_t length) {
    if (credit_.owe(length)) say(Kind::Credit, 0);
}

Outbound::Sent Outbound::send_frames(int socket, bool expects_data) {
    Sent result;
    while (!frames_.empty()) {
        std::array<iovec, 16> pieces;
        size_t count = 0;
        size_t asked = 0;
        const auto add = [&](const void* data, size_t bytes) {
            if (expects_data) bytes = std::min(bytes, max_at_once - asked);
            if (bytes == 0) return;
            pieces[count++] = {const_cast<void*>(data), bytes};
            asked += bytes;
        };
        frames_.each([&](const Frame& frame) {
            if (count + 2 > pieces.size()) return false;
            const ConstBytes head = wire_bytes(frame.head).subspan(frame.head_sent);
            add(head.data(), head.size());
            add(frame.data.data(), frame.data.size());
            return true;
        });
        const ssize_t sent = send_to(socket, std::span(pieces).first(count), asked);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) return {true, errno};
        if (sent > 0) {
            result.has_moved = true;
            pass(static_cast<size_t>(sent));
        }
        if (sent < static_cast<ssize_t>(asked) || expects_data) break;
    }
    return result;
}

// So many bytes have gone.
void Outbound::pass(size_t bytes) {
    while (!frames_.empty()) {
        Frame& frame = frames_.front();
        const size_t of_frame = std::min(bytes, frame.left());
        frame.pass(of_frame);
        bytes -= of_frame;
        if (frame.left() > 0) return frames_.note_begun();
        const bool is_done = frame.head.kind == Kind::Data || frame.head.id == 0 || frame.is_taken;
        Request* const request = is_done ? frame.request : nullptr;
        Divided* const part_of = frame.part_of;
        if (frame.request != nullptr) frame.request->frame = nullptr;
        frames_.pop_front();
        if (part_of != nullptr) divisions_.sent(*part_of);
        if (request == nullptr) continue;
        request->link = nullptr;
        request->mailbox.finish(*request, {}, request->bytes);
    }
}

void Outbound::push_part(const Part& part) {
    Frame* const frame = push_frame(part.head, Turn::Last);
    if (frame == nullptr) return;
    frame->data = part.data;
    frame->part_of = part.of;
}

bool Outbound::push_part() {
    const auto next = next_part();
    if (next) push_part(*next);
    return next.has_value();
}

std::optional<Part> Outbound::next_part() {
    return divisions_.next(stripes_.max_part());
}

// Sends and the answers to them.

void Outbound::send(Request& request) {
    if (is_closed_) return;
    Head head{};
    head.slot = request.slot.value();
    head.length = request.bytes;
    head.group = request.mailbox.group();
    const bool is_offer = must_be_offered(request);
    head.kind = is_offer ? Kind::Offer : Kind::Message;
    if (is_offer || !request.transfer.may_end_early) head.id = unanswered_.next_id();
    request.link = &link_;
    if (is_offer) {
        push(head);
    } else {
        credit_.spend(request.bytes);
        push(head, request);
    }
    if (head.id != 0) unanswered_.add(head.id, request, is_offer);
}

// A Message would overtake the data of an offer before it.
bool Outbound::must_be_offered(const Request& send) const {
    return send.bytes > eager_bytes || !credit_.covers(send.bytes, send.slot.is_collective()) ||
           unanswered_.has_offer_before(send);
}

bool Outbound::accepted(uint32_t id) {
    if (find_sent(id) == nullptr) return false;
    Request* const request = unanswered_.extract(id);
    // Parts of earlier data have their turn before these, or they would wait as long as more come.
    if (!stripes_.has_usable()) push_part();
    const size_t max_part = stripes_.max_part();
    if (request != nullptr && may_be_divided(*request, max_part)) {
        Divided& divided = divisions_.add(id, *request);
        request->link = &link_;
        // The first part takes this connection, so that a goodbye comes later.
        push_part(Divisions::next_of(divided, max_part));
        return true;
    }
    Head head{};
    head.kind = Kind::Data;
    head.id = id;
    if (request == nullptr) {
        head.slot = Head::withdrawn;
        push(head);
    } else {
        head.length = request->bytes;
        push(head, *request, request->slot.is_announcement() ? Turn::BeforeLongData : Turn::Last);
    }
    return true;
}

// An offer, or a Message that has been sent; null: there is none with that id.
Unanswered::Message* Outbound::find_sent(uint32_t id) {
    Unanswered::Message* const message = unanswered_.find(id);
    return message != nullptr && message->waiting_frame() == nullptr ? message : nullptr;
}

// The other side says so as soon as it has the head; the rest may still wait here.
bool Outbound::taken(uint32_t id) {
    Unanswered::Message* const message = unanswered_.find(id);
    if (message == nullptr) return false;
    if (Frame* const frame = message->waiting_frame()) {
        if (frame->head.kind != Kind::Message || !frame->head_has_gone()) return false;
        frame->is_taken = true;
        unanswered_.answer_early(id);
    } else if (Request* const request = unanswered_.extract(id)) {
        request->mailbox.finish(*request, {}, request->bytes);
    }
    return true;
}

bool Outbound::returned(uint32_t id) {
    if (find_sent(id) == nullptr) return false;
    if (Request* const request = unanswered_.extract(id)) {
        request->transfer.returned = true;
        request->mailbox.finish(*request, {}, 0);
    }
    return true;
}

// Their owners.

// An offer needs no answer, but whoever matches tagged ones must not find it. A tagged Message
// leaves no place that must be kept. A Message that has gone is asked for, once.
Outbound::TakenBack Outbound::take_back(Request& request) {
    Frame* const frame = request.frame;
    if (frame != nullptr && frame->head_sent == 0) {
        if (frame->head.kind == Kind::Message && Slot::is_tagged(frame->head.slot)) {
            credit_.refund(frame->data.size());
            frame->drop();
            static_cast<void>(unanswered_.extract(request.untaken));
            return TakenBack::Yes;
        }
        if (frame->head.kind == Kind::Message) credit_.refund_data(frame->data.size());
        frame->empty();
    } else {
        Unanswered::Message* const message = unanswered_.find(request);
        if (message == nullptr) return TakenBack::No;
        const bool is_tagged = Slot::is_tagged(request.slot.value());
        if (!message->is_offer || is_tagged) {
            if (std::exchange(message->is_asked_for, true)) return TakenBack::No;
            say(Kind::Return, request.untaken, request.mailbox.group());
        }
        if (!message->is_offer) return TakenBack::Asked;
    }
    unanswered_.forget(request);
    return TakenBack::Yes;
}

bool Outbound::release(Request& request) noexcept {
    unanswered_.forget(request);
    Divided* const divided = request.divided;
    if (divided == nullptr) {
        Frame* const frame = std::exchange(request.frame, nullptr);
        return frame == nullptr || copy_rest(*frame);
    }
    if (!Divisions::release_request(*divided)) return false;
    const std::byte* const copy = divided->copy.get();
    frames_.each([&](Frame& frame) {
        if (frame.part_of != divided) return true;
        frame.data = {copy + (frame.data.data() - request.data), frame.data.size()};
        return true;
    });
    stripes_.move_data(*divided, request.data, copy);
    return true;
}

void Outbound::close() noexcept {
    is_closed_ = true;
    frames_.each([](const Frame& frame) {
        if (frame.request != nullptr) frame.request->lose_link();
        return true;
    });
    frames_.clear();
    unanswered_.clear();
    divisions_.clear();
}

}  // namespace tutti::tcp
