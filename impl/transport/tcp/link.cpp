#include "link.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "base/error.hpp"

namespace tutti::tcp {

namespace {

// Parts that a connection gets in one call, so that others have their turn.
constexpr int max_parts_at_once = 4;

// So a slow line keeps no more waiting than it must.
void limit_unsent(int socket) {
    const int unsent = static_cast<int>(2 * part_bytes);
    setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

}  // namespace

Link::Link(int peer, LinkOwner& owner)
    : peer_(peer),
      owner_(owner),
      stripes_(peer, owner),
      out_(*this, credit_, stripes_),
      in_(*this, peer, owner, reader_, out_) {}

// Opening and closing.

void Link::adopt(net::Socket socket) {
    told_ = {};  // until the first flush
    reader_.open();
    socket_ = std::move(socket);
    limit_unsent(this->socket());
}

int Link::add_stripe(net::Socket socket, const std::optional<membership::Token>& proof) {
    if (is_closed()) return -1;
    const int added = stripes_.add(std::move(socket), proof, *this);
    if (added < 0) return -1;
    for (const int one : sockets()) limit_unsent(one);
    return added;
}

std::vector<int> Link::sockets() const {
    std::vector<int> all;
    if (socket_.valid()) all.push_back(socket());
    for (const auto& stripe : stripes_.all()) all.push_back(stripe->socket());
    return all;
}

// All requests have lost the link before the owner hears of anything.
void Link::close(const std::string& reason) noexcept {
    if (is_closed()) return;
    out_.close();
    stripes_.close_all();
    in_.close();
    in_.hear_due_goodbyes();
    owner_.closed(*this, reason);
    socket_.close();
}

// The other side sends nothing more.
void Link::close_if_over() {
    if (!has_ended_) return;
    const bool goes_on = in_.accepted().are_coming_in_parts() && stripes_.may_receive();
    if (!goes_on) close(closed_by_peer);
}

// Moving.

bool Link::advance() noexcept {
    stripes_.clear_closed();
    if (!is_open()) return false;
    bool has_moved = false;
    try {
        has_moved = receive();
        if (stripes_.should_look(in_.accepted().may_come_in_parts())) {
            has_moved |= receive_on_stripes();
        }
        if (is_open()) in_.hear_due_goodbyes();
        if (is_open()) close_if_over();
    } catch (...) {
        close(current_status().message);
    }
    return flush() || has_moved;
}

// Parts go to each connection in turn, as long as it takes them.
bool Link::flush() noexcept {
    if (!is_open()) return false;
    bool has_moved = out_.has_frames() && send_frames();
    try {
        bool goes_on = has_output() || stripes_.has_output();
        for (int turn = 0; turn < max_parts_at_once && goes_on && is_open(); ++turn) {
            goes_on = !out_.has_frames() && out_.push_part() && send_frames();
            goes_on |= stripes_.send();
            has_moved |= goes_on;
            if (!in_.accepted().empty()) break;
        }
        tell_wants();
    } catch (...) {
        close(current_status().message);
    }
    return has_moved;
}

bool Link::send_frames() {
    const auto [has_moved, error] = out_.send_frames(socket(), in_.expects_data());
    if (error != 0) close(errno_text(error));
    return has_moved;
}

void Link::tell_wants() {
    if (!is_open()) return;
    const auto tell = [this](int socket, const Wants& wants, Wants& told) {
        if (wants != told) owner_.wants(*this, socket, wants, told);
        told = wants;
    };
    const bool has_parts = out_.has_parts();
    tell(socket(), {!has_ended_, out_.has_frames() || has_parts || in_.has_due_goodbye()}, told_);
    for (const auto& stripe : stripes_.all()) {
        tell(stripe->socket(),
             {!stripe->has_ended(), stripe->has_output() || (stripe->is_usable() && has_parts)},
             stripe->told);
    }
}

// Stops when the socket is empty.
bool Link::receive() {
    for (size_t moved = 0; is_open() && !has_ended_;) {
        const Reader::Read read = reader_.read(socket());
        if (read.error != 0) {
            close(errno_text(read.error));
        } else if (read.has_ended && !reader_.is_between_messages()) {
            close(closed_by_peer);
        } else if (read.has_ended) {
            has_ended_ = true;  // parts may still come on stripes
        }
        moved += read.bytes;
        if (read.bytes > 0) parse();
        if (read.is_socket_empty || moved >= max_at_once) return moved > 0;
    }
    return false;
}

void Link::parse() {
    while (is_open() && in_.fill_message()) {
        const auto head = reader_.next_head();
        if (!head) break;
        if (!take_head(*head)) return close("a message was malformed");
    }
    reader_.compact();
}

// False: it is malformed.
bool Link::take_head(const Head& head) {
    if (!credit_.receive(head.credit)) return false;
    switch (head.kind) {
        case Kind::Message:
            return in_.begin_message(head);
        case Kind::Offer:
            in_.begin_offer(head);
            return true;
        case Kind::Accept:
            return out_.accepted(head.id);
        case Kind::Taken:
            return out_.taken(head.id);
        case Kind::Data:
            return in_.begin_data(head);
        case Kind::Part:
            return in_.begin_part(head);
        case Kind::TakeBack:
            in_.take_back(head);
            return true;
        case Kind::Return:
            return in_.return_arrival(head);
        case Kind::Returned:
            return out_.returned(head.id);
        case Kind::Goodbye:
            in_.hear_goodbye(head.group);
            return true;
        case Kind::Credit:
            return true;
    }
    return false;
}

bool Link::receive_on_stripes() {
    const bool has_moved = stripes_.receive();
    if (const auto fault = stripes_.find_loss()) {
        close(*fault);
    } else {
        stripes_.close_broken();
    }
    return has_moved;
}

std::optional<Arriving> Link::begin_part(const Head& head) {
    return in_.accepted().begin_part(head);
}

void Link::end_part(Accepted& of, size_t bytes) {
    in_.accepted().end_part(of, bytes);
}

// Messages.

void Link::send(Request& request) {
    out_.send(request);
    if (!request.transfer.is_followed) flush();
}

void Link::say_goodbye(uint32_t group) {
    out_.say_goodbye(group);
    flush();
}

void Link::take_back_sent(uint32_t group, Slot slot) {
    out_.take_back_sent(group, slot);
    flush();
}

// An answer to a message that is still coming in goes with the next frames.
void Link::take(Arrival& arrival, Request& request) {
    const bool is_whole = arrival.is_whole;
    in_.take(arrival, request);
    if (is_whole) flush();
}

// The thread that moves the connections sends the question: messages that end when the socket takes
// bytes would be reported to nobody here.
bool Link::take_back(Request& request) noexcept {
    try {
        const auto taken_back = out_.take_back(request);
        if (taken_back != Outbound::TakenBack::No) tell_wants();
        return taken_back == Outbound::TakenBack::Yes;
    } catch (...) {
        close(current_status().message);
        return false;
    }
}

// A goodbye that is due by this is left to the thread that moves the connections, too.
void Link::release(Request& request) noexcept {
    if (in_.release(request)) {
        if (!in_.holds_goodbyes()) return;
        try {
            tell_wants();
        } catch (...) {
            close(current_status().message);
        }
    } else if (!take_back(request) && !out_.release(request)) {
        close("no memory is left for the rest of a message");
    }
}

}  // namespace tutti::tcp
