#include "accepted_offers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mailbox.hpp"

namespace tutti::tcp {

void AcceptedOffers::add(Request& request, uint32_t id, size_t length) {
    Accepted& added =
        accepted_.emplace_back(Accepted{id, request.mailbox.group(), length, &request});
    added.place = std::prev(accepted_.end());
    by_id_.push_back(added, {id});
    if (added.may_come_in_parts()) ++long_ones_;
    request.accepted = &added;
}

void AcceptedOffers::remove(Accepted& accepted) noexcept {
    if (accepted.may_come_in_parts()) --long_ones_;
    if (accepted.request != nullptr) accepted.request->accepted = nullptr;
    by_id_.remove(accepted);
    accepted_.erase(accepted.place);
}

std::optional<AcceptedOffers::Whole> AcceptedOffers::begin_whole(const Head& head) {
    Accepted* const of = by_id_.first({head.id});
    if (of == nullptr || of->awaited > 0) return std::nullopt;
    if (head.length != 0 && head.length != of->length) return std::nullopt;
    const Whole whole{of->request};
    remove(*of);
    return whole;
}

std::optional<Arriving> AcceptedOffers::begin_part(const Head& head) {
    if (head.kind != Kind::Part || head.length == 0) return std::nullopt;
    Accepted* const of = by_id_.first({head.id});
    if (of == nullptr) return std::nullopt;
    const bool fits = head.slot <= of->length && head.length <= of->length - head.slot &&
                      head.length <= of->length - of->awaited;
    if (!fits) return std::nullopt;
    of->awaited += head.length;
    return Arriving{of, head.slot, head.length};
}

void AcceptedOffers::end_part(Accepted& of, size_t bytes) {
    of.arrived += bytes;
    if (of.arrived < of.length) return;
    Request* const request = of.request;
    const size_t length = of.length;
    remove(of);
    if (request == nullptr) return;
    request->link = nullptr;
    request->mailbox.finish_receive(*request, length);
}

bool AcceptedOffers::release(Request& request) noexcept {
    Accepted* const accepted = std::exchange(request.accepted, nullptr);
    if (accepted == nullptr) return false;
    accepted->request = nullptr;
    return true;
}

bool AcceptedOffers::are_coming_in_parts(const uint32_t* group) const {
    return std::ranges::any_of(accepted_, [&](const Accepted& one) {
        return one.request != nullptr && one.awaited > 0 &&
               (group == nullptr || one.group == *group);
    });
}

void AcceptedOffers::clear() noexcept {
    while (!accepted_.empty()) {
        if (Request* const request = accepted_.front().request) request->lose_link();
        remove(accepted_.front());
    }
}

}  // namespace tutti::tcp
