// Receiving.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "link.hpp"

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

// Stops where the socket had less than there was room for: it is empty then.
bool Link::receive() {
    for (size_t moved = 0; is_open() && !has_ended_;) {
        const size_t room = left_ > 0 && into_ != nullptr && left_ > short_rest
                                ? left_
                                : buffer_bytes - end_ + (into_ != nullptr ? left_ : 0);
        const size_t got = read_some();
        moved += got;
        if (got > 0) parse();
        if (got < room || moved >= max_at_once) return moved > 0;
    }
    return false;
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
    const ssize_t got = read_from(socket(), std::span(pieces).first(count));
    if (got < 0 && errno == EAGAIN) return 0;
    if (got == 0 && !is_inside_ && end_ == 0) {
        has_ended_ = true;  // parts may still come on stripes
        return 0;
    }
    if (got <= 0) {
        close(got == 0 ? closed_by_peer : errno_text(errno));
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
        case Kind::Part: {
            const auto begun = begin_part(head_);
            if (!begun) return false;
            is_inside_ = true;
            left_ = begun->left;
            part_of_ = begun->of;
            into_ = begun->into();
            return true;
        }
        case Kind::TakeBack:
            return empty_arrivals();
        case Kind::Return:
            return return_arrival();
        case Kind::Returned:
            return returned();
        case Kind::Goodbye:
            hear_goodbye(head_.group);
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

// The other side decided about it: the request, if its owner has not let go of it.
Request* Link::extract(Untakens::iterator message) {
    Request* const request = message->second.request;
    if (const auto stream = offers_.find(message->second.stream);
        message->second.is_offer && stream != offers_.end() && --stream->second == 0) {
        offers_.erase(stream);
    }
    untaken_.erase(message);
    if (request == nullptr) return nullptr;
    request->link = nullptr;
    request->untaken = 0;
    return request;
}

// An offer or a Message, none of which waits here.
Request* Link::extract_untaken(bool& is_known) {
    const auto found = untaken_.find(head_.id);
    is_known = found != untaken_.end() && found->second.waiting_frame() == nullptr;
    return is_known ? extract(found) : nullptr;
}

// The other side says so as soon as it has the head; the rest may still wait here.
bool Link::taken() {
    const auto found = untaken_.find(head_.id);
    if (found == untaken_.end()) return false;
    if (Frame* const frame = found->second.waiting_frame()) {
        if (frame->head.kind != Kind::Message || !frame->head_has_gone()) return false;
        frame->is_taken = true;
        frame->request->untaken = 0;
        untaken_.erase(found);
    } else if (Request* const request = extract(found)) {
        request->mailbox.finish(*request, {}, request->bytes);
    }
    return true;
}

// Its data are given up, and it stays, empty, in its place.
bool Link::return_arrival() {
    if (head_.id == 0) return false;
    Mailbox* const mailbox = owner_.mailbox(head_.group);
    if (mailbox == nullptr) return true;
    Arrival* const found = mailbox->find_to_return(peer_, head_.id);
    if (found == nullptr) return true;
    owe(found->length);
    mailbox->give_back(*found);
    say(Kind::Returned, head_.id);
    return true;
}

bool Link::returned() {
    bool is_known = false;
    Request* const request = extract_untaken(is_known);
    if (request != nullptr) {
        request->transfer.returned = true;
        request->mailbox.finish(*request, {}, 0);
    }
    return is_known;
}

bool Link::accepted() {
    bool is_known = false;
    Request* const request = extract_untaken(is_known);
    if (!is_known) return false;
    // Parts of earlier data have their turn before these, or they would wait as long as more come.
    if (!has_stripes()) push_part();
    if (request != nullptr && may_be_divided(*request)) {
        Divided& divided =
            divided_.emplace_back(Divided{head_.id, {request->data, request->bytes}, request});
        divided.place = std::prev(divided_.end());
        request->link = this;
        request->divided = &divided;
        push_part(divided);  // on this connection, so that a goodbye comes later
        return true;
    }
    Head head{};
    head.kind = Kind::Data;
    head.id = head_.id;
    head.length = request == nullptr ? 0 : request->bytes;
    const bool is_ordered = request == nullptr || request->slot.is_announcement();
    push(head, request, is_ordered ? Turn::BeforeLongData : Turn::Last);
    return true;
}

bool Link::begin_data() {
    Accepted* const awaited = accepted_by_id_.first({head_.id});
    if (awaited == nullptr || awaited->awaited > 0) return false;
    if (head_.length != 0 && head_.length != awaited->length) return false;
    is_inside_ = true;
    left_ = head_.length;
    receiver_ = awaited->request;
    remove(*awaited);
    if (receiver_ != nullptr) into_ = receiver_->data;
    return true;
}

void Link::end_message() {
    if (Arrival* const arrival = std::exchange(arrival_, nullptr)) return end_arrival(*arrival);
    if (Accepted* const of = std::exchange(part_of_, nullptr)) return end_part(*of, head_.length);
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
        mailbox.reserve(arrival, request);
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

void Link::deliver(Arrival& arrival, Request& request) {
    const size_t length = arrival.is_taken_back ? 0 : arrival.length;
    if (length > 0 && length <= request.bytes) {
        std::memcpy(request.data, arrival.data.get(), length);
    }
    Mailbox& mailbox = request.mailbox;
    mailbox.finish_receive(request, length);
    if (!arrival.is_returned) owe(arrival.length);
    mailbox.remove(arrival);
}

void Link::abandon(const Arrival& arrival) noexcept {
    if (arrival_ == &arrival) {
        arrival_ = nullptr;
        into_ = nullptr;
    } else if (!arrival.is_offer && !arrival.is_returned) {
        owe(arrival.length);
    }
}

}  // namespace tutti::tcp
