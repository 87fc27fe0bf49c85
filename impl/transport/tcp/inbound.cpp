#include "inbound.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace tutti::tcp {

bool Inbound::begin_message(const Head& head) {
    if (head.length > eager_bytes) return false;
    reader_.begin(head, receiver_of(head));
    return true;
}

// The first receive that waits for a Message; else it is kept. Nobody: its group has ended, or it
// is too long for that receive.
Incoming::Receiver Inbound::receiver_of(const Head& head) {
    Mailbox* const mailbox = owner_.mailbox(head.group);
    if (mailbox == nullptr) return Incoming::Nobody{};
    if (Slot::is_tagged(head.slot)) return &mailbox->add(link_, head, peer_);
    if (Request* const request = mailbox->match(peer_, head.slot)) {
        out_.say_taken(head.id);
        if (head.length > request->bytes) {
            mailbox->finish_receive(*request, head.length);
            return Incoming::Nobody{};
        }
        request->link = &link_;
        return request;
    }
    return &mailbox->add(link_, head, peer_);
}

void Inbound::begin_offer(const Head& head) {
    Mailbox* const mailbox = owner_.mailbox(head.group);
    if (mailbox == nullptr) return;
    Request* const request =
        Slot::is_tagged(head.slot) ? nullptr : mailbox->match(peer_, head.slot);
    if (request != nullptr) {
        accept(*request, head.id, head.length);
    } else {
        mailbox->add(link_, head, peer_);
    }
}

void Inbound::accept(Request& request, uint32_t id, size_t length) {
    if (length > request.bytes) {
        out_.say_taken(id);
        return request.mailbox.finish_receive(request, length);
    }
    Head head{};
    head.id = id;
    head.length = length;
    head.kind = Kind::Accept;
    out_.push(head);
    request.link = &link_;
    accepted_.add(request, id, length);
}

bool Inbound::begin_data(const Head& head) {
    const auto whole = accepted_.begin_whole(head);
    if (!whole) return false;
    if (whole->request == nullptr) {
        reader_.begin(head);
    } else {
        reader_.begin(head, whole->request);
    }
    return true;
}

bool Inbound::begin_part(const Head& head) {
    const auto begun = accepted_.begin_part(head);
    if (!begun) return false;
    reader_.begin(head, begun->of);
    return true;
}

void Inbound::take_back(const Head& head) {
    if (Mailbox* const mailbox = owner_.mailbox(head.group)) mailbox->empty(peer_, head.slot);
}

// Its data are given up, and it stays, empty, in its place.
bool Inbound::return_arrival(const Head& head) {
    if (head.id == 0) return false;
    Mailbox* const mailbox = owner_.mailbox(head.group);
    if (mailbox == nullptr) return true;
    Arrival* const found = mailbox->find_to_return(peer_, head.id);
    if (found == nullptr) return true;
    if (!found->is_offer) out_.owe(found->length);
    mailbox->give_back(*found);
    out_.say(Kind::Returned, head.id);
    return true;
}

void Inbound::end_message(const Incoming& message) {
    const size_t length = message.head.length;
    if (Arrival* const* const arrival = std::get_if<Arrival*>(&message.receiver)) {
        return end_arrival(**arrival, message.head.group);
    }
    if (Accepted* const* const of = std::get_if<Accepted*>(&message.receiver)) {
        return accepted_.end_part(**of, length);
    }
    if (Request* const* const request = std::get_if<Request*>(&message.receiver)) {
        (*request)->link = nullptr;
        if ((*request)->post != nullptr) {
            (*request)->transfer.returned = message.head.is_withdrawn();
        }
        (*request)->mailbox.finish_receive(**request, length);
    }
    if (message.head.kind == Kind::Message) out_.owe(length);
}

void Inbound::end_arrival(Arrival& arrival, uint32_t group) {
    if (arrival.is_tagged()) return owner_.mailbox(group)->end_tagged(arrival);
    arrival.is_whole = true;
    Request* const request = std::exchange(arrival.receiver, nullptr);
    if (request == nullptr) return;
    request->link = nullptr;
    deliver(arrival, *request);
}

void Inbound::take(Arrival& arrival, Request& request) {
    Mailbox& mailbox = request.mailbox;
    request.peer = peer_;
    if (!arrival.is_offer) out_.say_taken(arrival.id);
    if (!arrival.is_whole) {
        mailbox.reserve(arrival, request);
        request.link = &link_;
    } else if (arrival.is_offer) {
        accept(request, arrival.id, arrival.length);
        mailbox.remove(arrival);
    } else {
        deliver(arrival, request);
    }
}

void Inbound::deliver(Arrival& arrival, Request& request) {
    const size_t length = arrival.is_taken_back ? 0 : arrival.length;
    if (length > 0 && length <= request.bytes) {
        std::memcpy(request.data, arrival.data.get(), length);
    }
    Mailbox& mailbox = request.mailbox;
    mailbox.finish_receive(request, length);
    if (!arrival.is_returned) out_.owe(arrival.length);
    mailbox.remove(arrival);
}

void Inbound::take_tagged(Arrival& arrival, Mailbox& mailbox, Bytes into) {
    copy(into, {arrival.data.get(), into.size()});
    refuse_tagged(arrival, mailbox);
}

void Inbound::refuse_tagged(Arrival& arrival, Mailbox& mailbox) {
    out_.say_taken(arrival.id);
    if (!arrival.is_offer) out_.owe(arrival.length);
    mailbox.remove(arrival);
}

void Inbound::abandon(const Arrival& arrival) noexcept {
    if (reader_.receiver<Arrival>() == &arrival) {
        reader_.drop_receiver();
    } else if (!arrival.is_offer && !arrival.is_returned) {
        out_.owe(arrival.length);
    }
}

bool Inbound::release(Request& request) noexcept {
    if (reader_.receiver<Request>() == &request) {
        reader_.drop_receiver();
        return true;
    }
    Arrival* const arrival = reader_.receiver<Arrival>();
    if (arrival != nullptr && arrival->receiver == &request) {
        request.mailbox.remove(*arrival);
        reader_.drop_receiver();
        return true;
    }
    return accepted_.release(request);
}

// The other parts come on other connections, too, perhaps later.
void Inbound::hear_goodbye(uint32_t group) {
    if (accepted_.are_coming_in_parts(&group)) {
        goodbyes_.push_back(group);
    } else {
        owner_.said_goodbye(peer_, group);
    }
}

bool Inbound::is_any_due() const {
    return std::ranges::any_of(
        goodbyes_, [this](uint32_t group) { return !accepted_.are_coming_in_parts(&group); });
}

// The owner may close the link meanwhile.
void Inbound::hear_next_goodbye() {
    const auto due = std::ranges::find_if(
        goodbyes_, [this](uint32_t group) { return !accepted_.are_coming_in_parts(&group); });
    const uint32_t group = *due;
    goodbyes_.erase(due);
    owner_.said_goodbye(peer_, group);
}

void Inbound::close() noexcept {
    if (Request* const request = reader_.receiver<Request>()) request->lose_link();
    if (Arrival* const arrival = reader_.receiver<Arrival>()) {
        if (arrival->receiver != nullptr) arrival->receiver->lose_link();
    }
    reader_.drop_message();
    accepted_.clear();
}

}  // namespace tutti::tcp
