#include "mailbox.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "link.hpp"
#include "membership/missing_ranks.hpp"

namespace tutti::tcp {

void Mailbox::enter(Request& request) {
    request.place = pending_.size();
    pending_.push_back(&request);
    request.is_pending = true;
    if (!request.slot.is_collective()) ++unattended_;
    if (request.post != nullptr) return;
    request.has_entered = true;
    ++requests;
}

void Mailbox::await(Request& request) {
    request.turn = ++turns_;
    matching_.add_receive(request, request.slot.value(), request.peer);
}

Request* Mailbox::match(int peer, uint64_t slot) {
    Request* const request = matching_.receive_for(slot, peer);
    if (request == nullptr) return nullptr;
    matching_.remove_receive(*request);
    request->peer = peer;
    return request;
}

Arrival* Mailbox::find(const Request& request) const {
    return matching_.message_for(request.slot.value(), request.peer);
}

Arrival& Mailbox::add(Link& link, const Head& head, int peer) {
    Arrival& added = arrivals_.emplace_back(&link, head, peer);
    added.place = std::prev(arrivals_.end());
    added.is_offer = added.is_whole = head.kind == Kind::Offer;
    if (!added.is_offer && head.length > 0) {
        added.data = std::make_unique_for_overwrite<std::byte[]>(head.length);
    }
    if (!added.is_tagged()) {
        matching_.add_message(added, added.slot, added.peer);
    } else if (added.is_offer) {
        tagged_.came(added);
    }
    if (added.id != 0 && (!added.is_offer || added.is_tagged()))
        by_id_.push_back(added, {added.id, added.peer});
    return added;
}

void Mailbox::end_tagged(Arrival& arrival) {
    arrival.is_whole = true;
    tagged_.came(arrival);
}

void Mailbox::reserve(Arrival& arrival, Request& receiver) {
    matching_.remove_message(arrival);
    by_id_.remove(arrival);
    arrival.receiver = &receiver;
}

void Mailbox::remove(Arrival& arrival) {
    matching_.remove_message(arrival);
    by_id_.remove(arrival);
    arrivals_.erase(arrival.place);
}

// Its listener may have it.
void Mailbox::withdraw(Arrival& arrival) noexcept {
    by_id_.remove(arrival);
    arrival.is_withdrawn = true;
    arrival.data.reset();
}

// The messages behind it in its slot go, too: a receive for it would take the next one instead.
// Tagged ones are matched elsewhere, and keep their places there.
template <typename Chosen>
void Mailbox::remove_if(Chosen&& chosen) {
    std::set<std::pair<int, uint64_t>> broken;
    for (auto next = arrivals_.begin(); next != arrivals_.end();) {
        Arrival& one = *next++;
        const bool is_behind = !one.is_tagged() && broken.contains({one.peer, one.slot});
        if (!is_behind && !chosen(one)) continue;
        broken.emplace(one.peer, one.slot);
        if (one.is_tagged() && one.is_whole) {
            withdraw(one);
        } else {
            remove(one);
        }
    }
}

Arrival* Mailbox::find_to_return(int peer, uint32_t id) const {
    return by_id_.first({id, peer});
}

void Mailbox::give_back(Arrival& arrival) {
    withdraw(arrival);
    arrival.is_returned = true;
    arrival.length = 0;
    arrival.id = 0;
}

void Mailbox::empty(int peer, uint64_t slot) {
    for (Arrival* one = matching_.message_for(slot, peer); one != nullptr;
         one = Matching::after(*one)) {
        if (!one->is_offer) one->is_taken_back = true;
    }
}

void Mailbox::drop(Request& request) noexcept {
    if (!std::exchange(request.is_pending, false)) return;
    if (!request.slot.is_collective()) --unattended_;
    pending_[request.place] = pending_.back();
    pending_[request.place]->place = request.place;
    pending_.pop_back();
    if (Link* const link = std::exchange(request.link, nullptr)) {
        link->release(request);
    } else {
        matching_.remove_receive(request);
    }
}

void Mailbox::finish(Request& request, Status status, size_t bytes) noexcept {
    if (!request.is_pending) return;
    drop(request);
    Transfer& transfer = request.transfer;
    transfer.status = std::move(status);
    transfer.peer = rank_of(request.peer);
    transfer.bytes = bytes;
    // Another thread may tell of it at once. The transfer stays: its owner needs the pool's lock to
    // free it.
    transfer.done.store(true, std::memory_order_release);
    if (request.post != nullptr) return tagged_.ended(*request.post);
    completions_.add(transfer.listener, transfer);
}

void Mailbox::finish_receive(Request& request, size_t length) noexcept {
    Status status;
    if (length > request.bytes) {
        const int sender = rank_of(request.peer);
        status = {TUTTI_ERR_MISMATCH, sender, 0,
                  cat("rank ", sender, " sent ", length, " bytes where ", request.bytes,
                      " were expected")};
    }
    finish(request, std::move(status), length);
}

void Mailbox::finish_all(const Status& status) noexcept {
    while (!pending_.empty()) finish(*pending_.back(), status, 0);
}

void Mailbox::finish_messages(const Status& status) noexcept {
    std::vector<Request*> messages;
    std::ranges::copy_if(pending_, std::back_inserter(messages),
                         [](const Request* request) { return !request->slot.is_collective(); });
    for (Request* const message : messages) finish(*message, status, 0);
}

void Mailbox::check_not_aborted(Slot slot) const {
    if (!aborted.ok()) throw Error(aborted);
    if (!messages_aborted.ok() && !slot.is_collective()) throw Error(messages_aborted);
}

void Mailbox::lose(int peer) noexcept {
    const bool is_new = gone_.insert(peer).second;
    remove_if([&](const Arrival& one) { return one.peer == peer && one.is_offer; });
    const auto fail_those_of = [&](int one) {
        std::vector<Request*> theirs;
        std::ranges::copy_if(pending_, std::back_inserter(theirs),
                             [&](const Request* request) { return request->peer == one; });
        for (Request* const request : theirs) finish(*request, why_gone(one), 0);
    };
    fail_those_of(peer);
    if (is_gone(-1)) fail_those_of(-1);
    if (is_new) tagged_.left(peer);
}

bool Mailbox::is_gone(int peer) const {
    if (peer >= 0 || members_ == nullptr) return gone_.contains(peer);
    return !gone_.empty() && static_cast<int>(gone_.size()) + 1 == members_->size();
}

Status Mailbox::why_gone(int peer) const {
    return peer < 0 ? membership::all_others_left_error() : membership::left_error(rank_of(peer));
}

void Mailbox::collect(std::vector<TaggedMessages::Event>& events) {
    const size_t before = events.size();
    tagged_.collect(events);
    for (auto& event : std::span(events).subspan(before)) {
        if (event.kind == TaggedMessages::Event::Kind::Left) event.status = why_gone(event.peer);
        event.peer = rank_of(event.peer);
    }
}

void Mailbox::forget(const Link& link) noexcept {
    remove_if(
        [&](const Arrival& one) { return one.link == &link && (one.is_offer || !one.is_whole); });
}

}  // namespace tutti::tcp
