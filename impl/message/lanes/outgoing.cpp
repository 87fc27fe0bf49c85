#include "outgoing.hpp"

#include <cstring>

#include "base/plain.hpp"

namespace tutti::message {

Outgoing::Outgoing(const std::shared_ptr<Lanes>& lanes, Sending& message, uint64_t sequence)
    : lanes_(lanes), destination_(message.call.destination), message_(&message) {
    const Send& call = message.call;
    const ConstBytes data = call.buffer.bytes();
    const size_t eager = Announcement::eager(data.size());
    const Announcement::Header header{call.buffer.count, sequence, call.buffer.dtype, call.content,
                                      0};
    const size_t announced = sizeof header + eager;
    announcement_ = std::make_unique_for_overwrite<std::byte[]>(announced);
    copy({announcement_.get(), sizeof header}, wire_bytes(header));
    if (eager > 0) std::memcpy(announcement_.get() + sizeof header, data.data(), eager);
    head_.emplace(*this, lanes, Slot::announcement(call.tag),
                  ConstBytes{announcement_.get(), announced});
    if (eager == data.size()) return;
    body_.emplace(*this, lanes, Slot::payload(sequence), data);
    head_->precede_another();
    left_ = 2;
}

void Outgoing::post() noexcept {
    for (std::shared_ptr<Outgoing> one = shared_from_this(); one;) {
        if (!one->post_parts() && (one->follows_ || one->body_))
            one->lanes_->flush(one->destination_);
        one = std::move(one->next_);
    }
}

bool Outgoing::post_parts() noexcept {
    const Lock lock(posting_);
    if (is_late_) return false;
    is_posted_ = true;
    const bool is_announced = head_->post();
    if (!body_) return is_announced;
    if (is_announced) return body_->post();
    settle(1, {});
    return false;
}

void Outgoing::follow(Outgoing& before) {
    (before.body_ ? before.body_ : before.head_)->precede_another();
    follows_ = true;
}

void Outgoing::time_out(const Status& status) noexcept {
    const Lock lock(posting_);
    is_late_ = true;
    late_ = status;
    if (!is_posted_) return settle(2, status);
    const bool head_stopped = head_->stop();
    const bool body_stopped = body_ && body_->stop();
    const bool lacks_data = body_ ? body_stopped : head_stopped;
    // An announcement that has gone comes back first, or a receive has taken it.
    settle(static_cast<int>(head_stopped) + static_cast<int>(body_stopped),
           lacks_data ? status : Status());
}

void Outgoing::end_part(const Part& part, const Transfer& transfer) noexcept {
    const bool has_data = &part == (body_ ? &*body_ : &*head_);
    settle(1, transfer.returned && has_data ? late_ : transfer.status);
}

void Outgoing::settle(int parts, const Status& status) noexcept {
    lanes_->messages().enter([&](Queues& queues) {
        left_ -= parts;
        if (status_.ok()) status_ = status;
        if (left_ > 0 || message_ == nullptr) return;
        queues.end(*std::exchange(message_, nullptr), status_);
    });
}

}  // namespace tutti::message
