// Opening, closing, sending.
#include "link.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "transport/ways.hpp"

namespace tutti::tcp {

namespace {

constexpr size_t max_stripes = FurtherConnections::most - 1;
// Parts that a connection gets in one call, so that others have their turn.
constexpr int max_parts_at_once = 4;

// So a slow line keeps no more waiting than it must.
void limit_unsent(int socket) {
    const int unsent = static_cast<int>(2 * part_bytes);
    setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

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

bool has_unsent(const std::vector<std::unique_ptr<Stripe>>& stripes) {
    return std::ranges::any_of(stripes, &Stripe::has_output);
}

}  // namespace

void Link::adopt(net::Socket socket) {
    told_ = {};  // until the first flush
    buffer_ = std::make_unique<std::array<std::byte, buffer_bytes>>();
    socket_ = std::move(socket);
    limit_unsent(this->socket());
}

int Link::add_stripe(net::Socket socket, const std::optional<membership::Token>& proof) {
    closed_stripes_.reserve(2 * max_stripes);  // close_stripe() must not fail
    if (is_closed_ || stripes_.size() + closed_stripes_.size() >= max_stripes) return -1;
    StripeOwner& owner = *this;
    stripes_.push_back(std::make_unique<Stripe>(std::move(socket), proof, owner));
    for (const int one : sockets()) limit_unsent(one);
    return stripes_.back()->socket();
}

std::vector<int> Link::sockets() const {
    std::vector<int> all;
    if (socket_.valid()) all.push_back(socket());
    for (const auto& stripe : stripes_) all.push_back(stripe->socket());
    return all;
}

bool Link::has_output() const {
    return !out_.empty() || !divided_.empty();
}

bool Link::advance() noexcept {
    closed_stripes_.clear();
    if (!is_open()) return false;
    bool has_moved = false;
    try {
        has_moved = receive();
        if (looks_at_stripes()) has_moved |= receive_on_stripes();
        if (is_open()) hear_due_goodbyes();
        if (is_open()) close_if_over();
    } catch (...) {
        close(current_status().message);
    }
    return flush() || has_moved;
}

void Link::close(const std::string& reason) noexcept {
    if (std::exchange(is_closed_, true)) return;
    const auto let_go = [](Request* request) {
        if (request == nullptr) return;
        request->link = nullptr;
        request->frame = nullptr;
        request->untaken = 0;
        request->divided = nullptr;
    };
    out_.each([&](const Frame& frame) { return let_go(frame.request), true; });
    for (const auto& [id, one] : untaken_) let_go(one.request);
    for (const Accepted& one : accepted_) let_go(one.request);
    for (const Divided& one : divided_) let_go(one.request);
    let_go(receiver_);
    if (arrival_ != nullptr) let_go(arrival_->receiver);
    out_.clear();
    untaken_.clear();
    offers_.clear();
    for (auto& stripe : std::exchange(stripes_, {})) close_stripe(std::move(stripe));
    while (!accepted_.empty()) remove(accepted_.front());
    divided_.clear();
    receiver_ = nullptr;
    arrival_ = nullptr;
    part_of_ = nullptr;
    for (const uint32_t group : std::exchange(goodbyes_, {})) owner_.said_goodbye(peer_, group);
    owner_.closed(*this, reason);
    socket_.close();
}

void Link::push(const Head& head, Request* request, Turn turn) {
    if (is_closed_) return;
    Frame& frame = out_.push(head, turn);
    frame.head.credit = std::exchange(owed_, 0);
    if (request == nullptr) return;
    frame.request = request;
    frame.data = {request->data, request->bytes};
    request->link = this;
    request->frame = &frame;
}

void Link::send(Request& request) {
    Head head{};
    head.slot = request.slot.value();
    head.length = request.bytes;
    head.group = request.mailbox.group();
    const bool is_offer = must_be_offered(request);
    head.kind = is_offer ? Kind::Offer : Kind::Message;
    if (is_offer || !request.transfer.may_end_early) head.id = next_id();
    if (!is_offer) window_ -= charge_of(request.bytes);
    push(head, is_offer ? nullptr : &request);
    if (!is_closed_) {
        request.link = this;
        const Stream stream{head.group, head.slot};
        if (head.id != 0) {
            untaken_[head.id] = {&request, is_offer, stream};
            request.untaken = head.id;
        }
        if (is_offer && request.slot.is_announcement()) ++offers_[stream];
    }
    if (!request.transfer.is_followed) flush();
}

// A Message would overtake the data of an offer before it. Messages that nobody receives leave half
// of the window to collectives.
bool Link::must_be_offered(const Request& send) const {
    const uint32_t kept_free = send.slot.is_collective() ? 0 : window_bytes / 2;
    return send.bytes > eager_bytes || charge_of(send.bytes) + kept_free > window_ ||
           (!offers_.empty() && offers_.contains({send.mailbox.group(), send.slot.value()}));
}

uint32_t Link::next_id() {
    if (++last_id_ == 0) ++last_id_;
    return last_id_;
}

void Link::say_goodbye(uint32_t group) {
    Head head{};
    head.group = group;
    head.kind = Kind::Goodbye;
    push(head, nullptr, Turn::Last);
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
    Accepted& added =
        accepted_.emplace_back(Accepted{id, request.mailbox.group(), length, &request});
    added.place = std::prev(accepted_.end());
    accepted_by_id_.push_back(added, {id});
    if (added.may_come_in_parts()) ++long_accepted_;
    request.accepted = &added;
}

void Link::remove(Accepted& accepted) {
    if (accepted.may_come_in_parts()) --long_accepted_;
    if (accepted.request != nullptr) accepted.request->accepted = nullptr;
    accepted_by_id_.remove(accepted);
    accepted_.erase(accepted.place);
}

void Link::say_taken(uint32_t id) {
    if (id != 0) say(Kind::Taken, id);
}

void Link::say(Kind kind, uint32_t id, uint32_t group) {
    Head head{};
    head.group = group;
    head.id = id;
    head.kind = kind;
    push(head);
}

void Link::owe(uint64_t length) {
    owed_ += charge_of(length);
    if (owed_ < window_bytes / 2) return;
    Head head{};
    head.kind = Kind::Credit;
    push(head);
}

// Parts go to each connection in turn, as long as it takes them.
bool Link::flush() noexcept {
    if (!is_open()) return false;
    bool has_moved = send_frames();
    try {
        bool goes_on = has_output() || has_unsent(stripes_);
        for (int turn = 0; turn < max_parts_at_once && goes_on && is_open(); ++turn) {
            goes_on = out_.empty() && push_part() && send_frames();
            for (size_t i = 0; i < stripes_.size(); ++i) goes_on |= stripes_[i]->send();
            has_moved |= goes_on;
            if (!accepted_.empty()) break;
        }
        tell_wants();
    } catch (...) {
        close(current_status().message);
    }
    return has_moved;
}

void Link::tell_wants() {
    if (!is_open()) return;
    const auto tell = [this](int socket, const Wants& wants, Wants& told) {
        if (wants != told) owner_.wants(*this, socket, wants, told);
        told = wants;
    };
    tell(socket(), {!has_ended_, !out_.empty() || has_parts() || has_due_goodbye()}, told_);
    for (const auto& stripe : stripes_) {
        tell(stripe->socket(),
             {!stripe->has_ended(), stripe->has_output() || (stripe->is_usable() && has_parts())},
             stripe->told);
    }
}

bool Link::send_frames() {
    bool has_moved = false;
    const bool expects = left_ > 0 || !accepted_.empty();
    while (!out_.empty()) {
        std::array<iovec, 16> pieces;
        size_t count = 0;
        size_t asked = 0;
        const auto add = [&](const void* data, size_t bytes) {
            if (expects) bytes = std::min(bytes, max_at_once - asked);
            if (bytes == 0) return;
            pieces[count++] = {const_cast<void*>(data), bytes};
            asked += bytes;
        };
        out_.each([&](const Frame& frame) {
            if (count + 2 > pieces.size()) return false;
            const ConstBytes head = wire_bytes(frame.head).subspan(frame.head_sent);
            add(head.data(), head.size());
            add(frame.data.data(), frame.data.size());
            return true;
        });
        const ssize_t sent = send_to(socket(), std::span(pieces).first(count), asked);
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
    return has_moved;
}

// So many bytes have gone.
void Link::pass(size_t bytes) {
    while (!out_.empty()) {
        Frame& frame = out_.front();
        const size_t of_frame = std::min(bytes, frame.left());
        frame.pass(of_frame);
        bytes -= of_frame;
        if (frame.left() > 0) return out_.note_begun();
        const bool is_done = frame.head.kind == Kind::Data || frame.head.id == 0 || frame.is_taken;
        Request* const request = is_done ? frame.request : nullptr;
        Divided* const part_of = frame.part_of;
        if (frame.request != nullptr) frame.request->frame = nullptr;
        out_.pop_front();
        if (part_of != nullptr) sent(*part_of);
        if (request == nullptr) continue;
        request->link = nullptr;
        request->mailbox.finish(*request, {}, request->bytes);
    }
}

// A Message that has gone is asked for.
bool Link::take_back(Request& request) noexcept {
    Frame* const frame = request.frame;
    if (frame != nullptr && frame->head_sent == 0) {
        if (frame->head.kind == Kind::Message) window_ += static_cast<uint32_t>(frame->data.size());
        frame->empty();
    } else if (!ask_back(request)) {
        return false;
    }
    forget_untaken(request);
    return true;
}

// True: it is an offer, which needs no answer. The thread that moves the connections asks: messages
// that end when the socket takes bytes would be told to nobody here.
bool Link::ask_back(Request& request) noexcept {
    const auto found = untaken_.find(request.untaken);
    if (found == untaken_.end() || found->second.request != &request) return false;
    if (found->second.is_offer) return true;
    if (std::exchange(found->second.is_asked_for, true)) return false;
    try {
        say(Kind::Return, found->first, request.mailbox.group());
        tell_wants();
    } catch (...) {
        close(current_status().message);
    }
    return false;
}

// Later answers of the other side are dropped.
void Link::forget_untaken(const Request& request) noexcept {
    const auto found = untaken_.find(request.untaken);
    if (found != untaken_.end() && found->second.request == &request) {
        found->second.request = nullptr;
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
    } else if (Accepted* const accepted = std::exchange(request.accepted, nullptr)) {
        accepted->request = nullptr;
        if (part_of_ == accepted) into_ = nullptr;
        wake_for_goodbyes();
    } else if (!take_back(request)) {
        forget_untaken(request);
        if (!keep_rest_of(request)) close("no memory is left for the rest of a message");
    }
}

bool Link::keep_rest_of(Request& request) noexcept {
    if (request.divided != nullptr) return keep_data_of(*request.divided);
    Frame* const frame = std::exchange(request.frame, nullptr);
    if (frame == nullptr) return true;
    frame->copy.reset(new (std::nothrow) std::byte[frame->data.size()]);
    if (!frame->copy) return false;
    std::ranges::copy(frame->data, frame->copy.get());
    frame->data = {frame->copy.get(), frame->data.size()};
    frame->request = nullptr;
    return true;
}

}  // namespace tutti::tcp
