#include "link.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace tutti::tcp {

namespace {

// In one call, while something is to come from the other side: it would wait meanwhile.
constexpr size_t most_at_once = size_t{512} * 1024;
// While a message has more to come nothing is read ahead.
constexpr size_t short_rest = 2048;

}  // namespace

void Link::Outgoing::pass(size_t bytes) {
    const size_t of_head = std::min(bytes, sizeof head - head_sent);
    head_sent += of_head;
    data = data.subspan(bytes - of_head);
}

void Link::Outgoing::empty() {
    head.length = 0;
    data = {};
    request = nullptr;
}

void Link::adopt(net::Socket socket) {
    wants_to_send_ = true;  // until the first flush
    buffer_ = std::make_unique<std::array<std::byte, buffer_bytes>>();
    socket_ = std::move(socket);
}

bool Link::advance() noexcept {
    if (!is_open()) return false;
    bool has_moved = false;
    try {
        has_moved = receive();
    } catch (...) {
        close(current_status().message);
    }
    return flush() || has_moved;
}

void Link::close(const std::string& reason) noexcept {
    if (std::exchange(is_closed_, true)) return;
    const auto let_go = [](Request* request) {
        if (request != nullptr) request->link = nullptr;
    };
    for (const Outgoing& frame : out_) let_go(frame.request);
    for (const auto& [id, one] : untaken_) let_go(one.request);
    for (const Accepted& one : accepted_) let_go(one.request);
    let_go(receiver_);
    if (arrival_ != nullptr) let_go(arrival_->receiver);
    out_.clear();
    untaken_.clear();
    accepted_.clear();
    receiver_ = nullptr;
    arrival_ = nullptr;
    owner_.closed(*this, reason);
    socket_.close();
}

// Sending.

void Link::push(const Head& head, Request* request) {
    if (is_closed_) return;
    Outgoing& frame = out_.emplace_back(Outgoing{head});
    frame.head.credit = std::exchange(owed_, 0);
    if (request == nullptr) return;
    frame.request = request;
    frame.data = {request->data, request->bytes};
    request->link = this;
}

void Link::send(Request& request) {
    Head head{};
    head.slot = request.slot.value();
    head.length = request.bytes;
    head.group = request.mailbox.group();
    head.id = ++last_id_;
    const uint32_t charge = charge_of(request.bytes);
    if (request.slot.is_collective() && request.bytes <= eager_bytes && charge <= window_) {
        window_ -= charge;
        head.kind = Kind::Message;
        push(head, &request);
    } else {
        head.kind = Kind::Offer;
        push(head);
    }
    if (!is_closed_) {
        request.link = this;
        untaken_[head.id] = {&request, head.kind == Kind::Offer};
    }
    flush();
}

void Link::say_goodbye(uint32_t group) {
    Head head{};
    head.group = group;
    head.kind = Kind::Goodbye;
    push(head);
    flush();
}

void Link::take_back_sent(uint32_t group, Slot slot) {
    Head head{};
    head.slot = slot.value();
    head.group = group;
    head.kind = Kind::TakeBack;
    push(head);
    flush();
}

void Link::accept(Request& request, uint32_t id, size_t length) {
    if (length > request.bytes) {
        say_taken(id);
        return request.mailbox.finish_receive(request, length);
    }
    Head head{};
    head.id = id;
    head.length = length;
    head.kind = Kind::Accept;
    push(head);
    request.link = this;
    accepted_.push_back({id, length, &request});
}

void Link::say_taken(uint32_t id) {
    Head head{};
    head.id = id;
    head.kind = Kind::Taken;
    push(head);
}

void Link::owe(uint64_t length) {
    owed_ += charge_of(length);
    if (owed_ < window_bytes / 2) return;
    Head head{};
    head.kind = Kind::Credit;
    push(head);
}

bool Link::flush() noexcept {
    if (!is_open()) return false;
    bool has_moved = false;
    const bool expects = left_ > 0 || !accepted_.empty();
    while (!out_.empty()) {
        std::array<iovec, 16> pieces;
        size_t count = 0;
        size_t asked = 0;
        const auto add = [&](const void* data, size_t bytes) {
            if (expects) bytes = std::min(bytes, most_at_once - asked);
            if (bytes == 0) return;
            pieces[count++] = {const_cast<void*>(data), bytes};
            asked += bytes;
        };
        for (const Outgoing& frame : out_) {
            if (count + 2 > pieces.size()) break;
            add(reinterpret_cast<const std::byte*>(&frame.head) + frame.head_sent,
                sizeof frame.head - frame.head_sent);
            add(frame.data.data(), frame.data.size());
        }
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = count;
        const ssize_t sent = ::sendmsg(socket(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) {
            close(errno_text(errno));
            return true;
        }
        if (sent > 0) {
            has_moved = true;
            pass(static_cast<size_t>(sent));
        }
        if (sent < static_cast<ssize_t>(asked) || expects) break;
    }
    const bool wants = !out_.empty();
    if (wants != std::exchange(wants_to_send_, wants)) owner_.wants_to_send(*this, wants);
    return has_moved;
}

// So many bytes have gone.
void Link::pass(size_t bytes) {
    while (!out_.empty()) {
        Outgoing& frame = out_.front();
        const size_t of_frame = std::min(bytes, frame.left());
        frame.pass(of_frame);
        bytes -= of_frame;
        if (frame.left() > 0) return;
        Request* const request = frame.head.kind == Kind::Data ? frame.request : nullptr;
        out_.pop_front();
        if (request == nullptr) continue;
        request->link = nullptr;
        request->mailbox.finish(*request, {}, request->bytes);
    }
}

// A Message that has gone cannot be taken back alone.
bool Link::take_back(Request& request) noexcept {
    const auto frame = std::ranges::find(out_, &request, &Outgoing::request);
    if (frame == out_.end()) {
        const bool is_offer = std::ranges::any_of(untaken_, [&](const auto& entry) {
            return entry.second.request == &request && entry.second.is_offer;
        });
        if (!is_offer) return false;
    } else {
        if (frame->head_sent > 0) return false;
        if (frame->head.kind == Kind::Message) window_ += static_cast<uint32_t>(frame->data.size());
        frame->empty();
    }
    forget_untaken(request);
    return true;
}

// Later answers of the other side are dropped.
void Link::forget_untaken(const Request& request) noexcept {
    for (auto& [id, one] : untaken_) {
        if (one.request == &request) one.request = nullptr;
    }
}

void Link::release(Request& request) noexcept {
    if (receiver_ == &request) {
        receiver_ = nullptr;
        into_ = nullptr;
    } else if (arrival_ != nullptr && arrival_->receiver == &request) {
        request.mailbox.remove(*arrival_);
        arrival_ = nullptr;
        into_ = nullptr;
    } else if (const auto found = std::ranges::find(accepted_, &request, &Accepted::request);
               found != accepted_.end()) {
        found->request = nullptr;
    } else if (!take_back(request)) {
        forget_untaken(request);
        if (!keep_rest_of(request)) close("no memory is left for the rest of a message");
    }
}

bool Link::keep_rest_of(Request& request) noexcept {
    const auto frame = std::ranges::find(out_, &request, &Outgoing::request);
    if (frame == out_.end()) return true;
    frame->copy.reset(new (std::nothrow) std::byte[frame->data.size()]);
    if (!frame->copy) return false;
    std::ranges::copy(frame->data, frame->copy.get());
    frame->data = {frame->copy.get(), frame->data.size()};
    frame->request = nullptr;
    return true;
}

// Receiving.

// Stops where the socket had less than there was room for: it is empty then.
bool Link::receive() {
    for (size_t moved = 0; is_open();) {
        const size_t room = left_ > 0 && into_ != nullptr && left_ > short_rest
                                ? left_
                                : buffer_bytes - end_ + (into_ != nullptr ? left_ : 0);
        const size_t got = read_some();
        moved += got;
        if (got > 0) parse();
        if (got < room || moved >= most_at_once) return moved > 0;
    }
    return true;
}

// Straight to where it belongs, and the rest into the buffer.
size_t Link::read_some() {
    std::array<iovec, 2> pieces;
    size_t count = 0;
    size_t direct = 0;
    if (left_ > 0 && into_ != nullptr) {
        direct = left_;
        pieces[count++] = {into_, left_};
    }
    if (direct <= short_rest) pieces[count++] = {buffer_->data() + end_, buffer_bytes - end_};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    ssize_t got = 0;
    do {
        got = ::recvmsg(socket(), &message, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) {
        close(got == 0 ? std::string("the connection was closed") : errno_text(errno));
        return 0;
    }
    direct = std::min(direct, static_cast<size_t>(got));
    if (direct > 0) into_ += direct;
    left_ -= direct;
    end_ += static_cast<size_t>(got) - direct;
    return static_cast<size_t>(got);
}

void Link::parse() {
    while (is_open()) {
        if (is_inside_) {
            const size_t bytes = std::min(left_, end_ - begin_);
            if (into_ != nullptr && bytes > 0) {
                std::memcpy(into_, buffer_->data() + begin_, bytes);
                into_ += bytes;
            }
            begin_ += bytes;
            left_ -= bytes;
            if (left_ > 0) break;
            is_inside_ = false;
            end_message();
        }
        if (end_ - begin_ < sizeof head_) break;
        std::memcpy(&head_, buffer_->data() + begin_, sizeof head_);
        begin_ += sizeof head_;
        if (!begin_message()) return close("a message was malformed");
    }
    std::memmove(buffer_->data(), buffer_->data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
}

// False: it is no message.
bool Link::begin_message() {
    if (head_.credit > window_bytes - window_) return false;
    window_ += head_.credit;
    into_ = nullptr;
    switch (head_.kind) {
        case Kind::Message:
            return begin_eager();
        case Kind::Offer:
            return begin_offer();
        case Kind::Accept:
            return accepted();
        case Kind::Taken:
            return taken();
        case Kind::Data:
            return begin_data();
        case Kind::TakeBack:
            return empty_arrivals();
        case Kind::Goodbye:
            owner_.said_goodbye(peer_, head_.group);
            return true;
        case Kind::Credit:
            return true;
    }
    return false;
}

bool Link::begin_eager() {
    if (head_.length > eager_bytes) return false;
    is_inside_ = true;
    left_ = head_.length;
    Mailbox* const mailbox = owner_.mailbox(head_.group);
    if (mailbox == nullptr) return true;
    if (Request* const request = mailbox->match(peer_, head_.slot)) {
        say_taken(head_.id);
        if (head_.length > request->bytes) {
            mailbox->finish_receive(*request, head_.length);
            return true;
        }
        receiver_ = request;
        request->link = this;
        into_ = request->data;
        return true;
    }
    arrival_ = &mailbox->add({this, peer_, head_.slot, head_.length, false, head_.id,
                              std::make_unique_for_overwrite<std::byte[]>(head_.length), false});
    into_ = arrival_->data.get();
    return true;
}

bool Link::begin_offer() {
    Mailbox* const mailbox = owner_.mailbox(head_.group);
    if (mailbox == nullptr) return true;
    if (Request* const request = mailbox->match(peer_, head_.slot)) {
        accept(*request, head_.id, head_.length);
    } else {
        mailbox->add({this, peer_, head_.slot, head_.length, true, head_.id, nullptr, true});
    }
    return true;
}

bool Link::empty_arrivals() {
    if (Mailbox* const mailbox = owner_.mailbox(head_.group)) mailbox->empty(peer_, head_.slot);
    return true;
}

// A message that the other side decides about is out of this rank's hands: all of it has gone, or
// nothing yet.
Request* Link::extract_untaken(bool& is_known) {
    const auto found = untaken_.find(head_.id);
    is_known = found != untaken_.end() &&
               (found->second.request == nullptr ||
                std::ranges::find(out_, found->second.request, &Outgoing::request) == out_.end());
    if (!is_known) return nullptr;
    Request* const request = found->second.request;
    untaken_.erase(found);
    if (request != nullptr) request->link = nullptr;
    return request;
}

bool Link::taken() {
    bool is_known = false;
    Request* const request = extract_untaken(is_known);
    if (request != nullptr) request->mailbox.finish(*request, {}, request->bytes);
    return is_known;
}

bool Link::accepted() {
    bool is_known = false;
    Request* const request = extract_untaken(is_known);
    if (!is_known) return false;
    Head head{};
    head.kind = Kind::Data;
    head.id = head_.id;
    head.length = request == nullptr ? 0 : request->bytes;
    push(head, request);
    return true;
}

bool Link::begin_data() {
    if (accepted_.empty() || accepted_.front().id != head_.id) return false;
    const Accepted awaited = accepted_.front();
    if (head_.length != 0 && head_.length != awaited.length) return false;
    accepted_.pop_front();
    is_inside_ = true;
    left_ = head_.length;
    receiver_ = awaited.request;
    if (receiver_ != nullptr) into_ = receiver_->data;
    return true;
}

void Link::end_message() {
    if (Arrival* const arrival = std::exchange(arrival_, nullptr)) return end_arrival(*arrival);
    if (Request* const request = std::exchange(receiver_, nullptr)) {
        request->link = nullptr;
        request->mailbox.finish_receive(*request, head_.length);
    }
    if (head_.kind == Kind::Message) owe(head_.length);
}

void Link::end_arrival(Arrival& arrival) {
    arrival.is_whole = true;
    Request* const request = std::exchange(arrival.receiver, nullptr);
    if (request == nullptr) return;
    request->link = nullptr;
    deliver(arrival, *request);
}

void Link::take(Arrival& arrival, Request& request) {
    Mailbox& mailbox = request.mailbox;
    request.peer = peer_;
    if (!arrival.is_offer) say_taken(arrival.id);
    if (!arrival.is_whole) {
        arrival.receiver = &request;
        request.link = this;
        return;
    }
    if (arrival.is_offer) {
        accept(request, arrival.id, arrival.length);
        mailbox.remove(arrival);
    } else {
        deliver(arrival, request);
    }
    flush();
}

void Link::deliver(const Arrival& arrival, Request& request) {
    const size_t length = arrival.is_taken_back ? 0 : arrival.length;
    if (length > 0 && length <= request.bytes) {
        std::memcpy(request.data, arrival.data.get(), length);
    }
    Mailbox& mailbox = request.mailbox;
    mailbox.finish_receive(request, length);
    owe(arrival.length);
    mailbox.remove(arrival);
}

void Link::abandon(const Arrival& arrival) noexcept {
    if (arrival_ == &arrival) {
        arrival_ = nullptr;
        into_ = nullptr;
    } else if (!arrival.is_offer) {
        owe(arrival.length);
    }
}

}  // namespace tutti::tcp
