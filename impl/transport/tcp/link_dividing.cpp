// Long data in parts, over this connection and its stripes.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "link.hpp"

namespace tutti::tcp {

namespace {

constexpr int looks_without_stripes = 16;  // while nothing is awaited on them

}  // namespace

bool Link::has_parts() const {
    return std::ranges::any_of(divided_, &Divided::has_rest);
}

bool Link::has_stripes() const {
    return std::ranges::any_of(stripes_, &Stripe::is_usable);
}

size_t Link::max_part() const {
    return has_stripes() ? part_bytes : long_part_bytes;
}

// Announcements end in their order, and parts come in any.
bool Link::may_be_divided(const Request& send) const {
    return send.bytes >= 2 * max_part() && !send.slot.is_announcement();
}

// Sending.

std::optional<Part> Link::next_part() {
    const auto next = std::ranges::find_if(divided_, &Divided::has_rest);
    if (next == divided_.end()) return std::nullopt;
    return next_part(*next);
}

Part Link::next_part(Divided& of) const {
    const std::span<const std::byte> data = of.rest.first(std::min(max_part(), of.rest.size()));
    const std::byte* const begin = of.copy ? of.copy.get() : of.request->data;
    Part part;
    part.head.kind = Kind::Part;
    part.head.id = of.id;
    part.head.slot = static_cast<uint64_t>(data.data() - begin);
    part.head.length = data.size();
    part.data = data;
    part.of = &of;
    of.rest = of.rest.subspan(data.size());
    ++of.parts_under_way;
    return part;
}

void Link::push_part(Divided& of) {
    const Part part = next_part(of);
    if (is_closed_) return;
    Frame& frame = out_.push(part.head, Turn::Last);
    frame.head.credit = std::exchange(owed_, 0);
    frame.data = part.data;
    frame.part_of = &of;
}

bool Link::push_part() {
    const auto next = std::ranges::find_if(divided_, &Divided::has_rest);
    if (next == divided_.end()) return false;
    push_part(*next);
    return true;
}

void Link::sent(Divided& of) {
    if (--of.parts_under_way > 0 || !of.rest.empty()) return;
    Request* const request = of.request;
    divided_.erase(of.place);
    if (request == nullptr) return;
    request->link = nullptr;
    request->divided = nullptr;
    request->mailbox.finish(*request, {}, request->bytes);
}

bool Link::keep_data_of(Divided& of) noexcept {
    Request& request = *std::exchange(of.request, nullptr);
    request.divided = nullptr;
    of.copy.reset(new (std::nothrow) std::byte[request.bytes]);
    if (!of.copy) return false;
    std::copy_n(request.data, request.bytes, of.copy.get());
    const auto moved = [&](std::span<const std::byte> data) {
        return std::span<const std::byte>(of.copy.get() + (data.data() - request.data),
                                          data.size());
    };
    of.rest = moved(of.rest);
    out_.each([&](Frame& frame) {
        if (frame.part_of == &of) frame.data = moved(frame.data);
        return true;
    });
    for (const auto& stripe : stripes_) stripe->move_data(of, request.data, of.copy.get());
    return true;
}

// Receiving.

std::optional<Arriving> Link::begin_part(const Head& head) {
    if (head.kind != Kind::Part || head.length == 0) return std::nullopt;
    Accepted* const of = accepted_by_id_.first({head.id});
    if (of == nullptr) return std::nullopt;
    const bool fits = head.slot <= of->length && head.length <= of->length - head.slot &&
                      head.length <= of->length - of->awaited;
    if (!fits) return std::nullopt;
    of->awaited += head.length;
    return Arriving{of, head.slot, head.length};
}

void Link::end_part(Accepted& of, size_t bytes) {
    of.arrived += bytes;
    if (of.arrived < of.length) return;
    Request* const request = of.request;
    const size_t length = of.length;
    remove(of);
    if (request == nullptr) return;
    request->link = nullptr;
    request->mailbox.finish_receive(*request, length);
}

// Data whose first part has come, on the first connection; for a group, if one is given.
bool Link::comes_in_parts(const uint32_t* group) const {
    return std::ranges::any_of(accepted_, [&](const Accepted& one) {
        return one.request != nullptr && one.awaited > 0 &&
               (group == nullptr || one.group == *group);
    });
}

// The other parts come on other connections, too, perhaps later.
void Link::hear_goodbye(uint32_t group) {
    if (comes_in_parts(&group)) {
        goodbyes_.push_back(group);
    } else {
        owner_.said_goodbye(peer_, group);
    }
}

bool Link::has_due_goodbye() const {
    return std::ranges::any_of(goodbyes_,
                               [this](uint32_t group) { return !comes_in_parts(&group); });
}

void Link::hear_due_goodbyes() {
    while (is_open() && has_due_goodbye()) {
        const auto due = std::ranges::find_if(
            goodbyes_, [this](uint32_t group) { return !comes_in_parts(&group); });
        const uint32_t group = *due;
        goodbyes_.erase(due);
        owner_.said_goodbye(peer_, group);
    }
}

// By the thread that moves the connections: here nobody would be told of what ends by that.
void Link::wake_for_goodbyes() noexcept {
    if (goodbyes_.empty()) return;
    try {
        tell_wants();
    } catch (...) {
        close(current_status().message);
    }
}

bool Link::awaits_parts() const {
    return long_accepted_ > 0;
}

// Looking costs as much as at another connection, and is of use only where parts may come; but one
// that is closed must be noticed at some time.
bool Link::looks_at_stripes() {
    if (stripes_.empty()) return false;
    if (++looks_ < looks_without_stripes && !awaits_parts() &&
        std::ranges::all_of(stripes_, &Stripe::is_usable)) {
        return false;
    }
    looks_ = 0;
    return true;
}

bool Link::receive_on_stripes() {
    bool has_moved = false;
    for (size_t i = 0; i < stripes_.size(); ++i) has_moved |= stripes_[i]->receive();
    judge_stripes();
    return has_moved;
}

// A stripe that was never proved is no loss, nor one that ended between two parts: the rank leaves.
void Link::judge_stripes() {
    const auto is_lost = [](const auto& one) { return one->is_broken() && one->is_proved(); };
    const auto lost = std::ranges::find_if(stripes_, is_lost);
    if (lost != stripes_.end()) {
        const std::string fault = (*lost)->fault();
        return close(fault);
    }
    const auto broken = std::stable_partition(stripes_.begin(), stripes_.end(),
                                              [](const auto& one) { return !one->is_broken(); });
    for (auto one = broken; one != stripes_.end(); ++one) {
        log(LogLevel::Debug, "tcp: a further connection to rank ", peer_, ": ", (*one)->fault());
        close_stripe(std::move(*one));
    }
    stripes_.erase(broken, stripes_.end());
}

// It may be calling.
void Link::close_stripe(std::unique_ptr<Stripe> stripe) noexcept {
    owner_.closes(stripe->socket());
    stripe->close();
    closed_stripes_.push_back(std::move(stripe));
}

void Link::drop_last_stripe() noexcept {
    close_stripe(std::move(stripes_.back()));
    stripes_.pop_back();
}

// The other side sends nothing more.
void Link::close_if_over() {
    if (!has_ended_) return;
    const bool goes_on =
        comes_in_parts(nullptr) &&
        std::ranges::any_of(stripes_, [](const auto& one) { return !one->has_ended(); });
    if (!goes_on) close(closed_by_peer);
}

}  // namespace tutti::tcp
