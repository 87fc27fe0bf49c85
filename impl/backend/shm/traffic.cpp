// Under the lock of the Messages.
#include "traffic.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "backend/message/fitting.hpp"
#include "base/error.hpp"
#include "waiting.hpp"

namespace tutti::shm {

namespace {

Bell& bell_of(void* mail) {
    return static_cast<Mail*>(mail)->bell;
}

}  // namespace

Traffic::Traffic(std::span<const MailPlace> mails, Way way, int rank)
    : rank_(rank),
      size_(static_cast<int>(mails.size())),
      bell_(bell_of(mails[static_cast<size_t>(rank)].memory)),
      matching_(rank, size_),
      shared_(rank),
      in_use_(mails.size() / 64 + 1) {
    void* const mine = mails[static_cast<size_t>(rank)].memory;
    for (int peer = 0; peer < size_; ++peer) {
        const auto& [theirs, process] = mails[static_cast<size_t>(peer)];
        Bell& bell = bell_of(theirs);
        outboxes_.emplace_back(BoxView::in(mine, peer, size_), bell, shared_);
        inboxes_.emplace_back(BoxView::in(theirs, rank, size_), bell, Sender{peer, process, way},
                              shared_);
    }
}

void Traffic::end(Operation& operation, const Status& status, int source) noexcept {
    operation.status = status;
    operation.source = source;
    if (operation.work) {
        --in_background_;
        ended_.push_back(operation);
        return;
    }
    if (&operation == driver_) {
        operation.done.store(true, std::memory_order_release);
        return;
    }
    operation.done.exchange(true, std::memory_order_seq_cst);
    ring_after_exchange(bell_);
}

void Traffic::admit(const Operation& operation) {
    if (!aborted_.ok()) throw Error(aborted_);
    if (!operation.work) return;
    ++in_background_;
    next_expiry_ = std::min(next_expiry_, operation.deadline.when());
}

void Traffic::post(Sending& message) {
    const int peer = message.call.destination;
    if (peer != rank_) outbox(peer).prepare();
    admit(message);
    if (peer == rank_) return post_to_myself(message);
    note(peer);
    outbox(peer).add(message);
    outbox(peer).advance(*this);
}

void Traffic::post_to_myself(Sending& message) {
    if (Receiving* const receiving = matching_.find_receiving(rank_, message.call.tag)) {
        matching_.remove(*receiving);
        return hand_over(message, *receiving);
    }
    std::unique_ptr<Arrival> arrival;
    try {
        arrival = std::make_unique<Arrival>();
    } catch (...) {
        return end(message, current_status(), -1);
    }
    arrival->source = rank_;
    arrival->head.tag = message.call.tag;
    arrival->own = &message;
    matching_.add(std::move(arrival));
}

void Traffic::hand_over(Sending& message, Receiving& receiving) {
    const ConstView& data = message.call.buffer;
    const Status status = receiving.make_room(message.call.content, data.count, data.dtype, rank_);
    if (status.ok()) {
        if (!receiving.room.empty()) {
            std::memcpy(receiving.room.data(), data.data, receiving.room.size());
        }
        receiving.deliver(rank_);
    }
    end(receiving, status, status.ok() ? rank_ : -1);
    end(message, status, -1);
}

void Traffic::post(Receiving& receiving) {
    const int source = receiving.call.source;
    if (source >= 0 && !inbox(source).broken().ok()) throw Error(inbox(source).broken());
    admit(receiving);
    if (take_arrival(receiving)) return;
    matching_.add(receiving);
    if (source == any_source) {
        advance();
    } else if (source != rank_) {
        note(source);
        advance(source);
    }
}

// The first message that has come for it and was not taken back since.
bool Traffic::take_arrival(Receiving& receiving) {
    while (Arrival* const first = matching_.find_arrival(receiving.call)) {
        const auto arrival = matching_.remove(*first);
        if (arrival->own != nullptr) {
            hand_over(*arrival->own, receiving);
            return true;
        }
        note(arrival->source);  // its data may be still to come
        if (inbox(arrival->source).take(receiving, *arrival, *this)) return true;
    }
    return false;
}

bool Traffic::advance() {
    bool moved = false;
    if (matching_.waits_for_any()) {
        for (int peer = 0; peer < size_; ++peer) moved |= peer != rank_ && advance(peer);
        return moved;
    }
    for (size_t word = 0; word < in_use_.size(); ++word) {
        for (uint64_t left = in_use_[word]; left != 0; left &= left - 1) {
            moved |= advance(static_cast<int>(word) * 64 + std::countr_zero(left));
        }
    }
    return moved;
}

bool Traffic::advance(int peer) {
    Outbox& out = outbox(peer);
    Inbox& in = inbox(peer);
    bool moved = out.is_busy() && out.advance(*this);
    if (matching_.wants(peer) || in.is_streaming()) {
        moved |= in.advance(matching_, *this);
        if (!in.broken().ok()) fail(peer, in.broken());
    }
    if (is_in_use(peer)) {
        note(peer);
    } else {
        in_use_[static_cast<size_t>(peer) / 64] &= ~bit(peer);
    }
    return moved;
}

bool Traffic::is_in_use(int peer) const {
    const auto place = static_cast<size_t>(peer);
    return outboxes_[place].is_busy() || inboxes_[place].is_streaming() || matching_.wants(peer);
}

bool Traffic::is_streaming() const {
    return std::ranges::any_of(outboxes_, &Outbox::is_streaming) ||
           std::ranges::any_of(inboxes_, &Inbox::is_streaming);
}

void Traffic::time_out(Sending& message) {
    const Status status = timed_out(message.call);
    if (message.call.destination != rank_) {
        outbox(message.call.destination).withdraw(message, *this, status);
        return;
    }
    drop_own(message);
    end(message, status, -1);
}

void Traffic::drop_own(const Sending& message) {
    matching_.drop_arrivals([&](const Arrival& arrival) { return arrival.own == &message; });
}

// One that stands in no list of those that wait has its message already.
void Traffic::time_out(Receiving& receiving) {
    if (receiving.number != 0) return;
    matching_.remove(receiving);
    end(receiving, timed_out(receiving.call), -1);
}

void Traffic::expire(Deadline::Clock::time_point now) {
    if (now < next_expiry_) return;
    next_expiry_ = Deadline::Clock::time_point::max();
    const auto is_late = [&](const Operation& operation) {
        if (!operation.work) return false;
        const auto when = operation.deadline.when();
        if (when <= now) return true;
        next_expiry_ = std::min(next_expiry_, when);
        return false;
    };
    for (Outbox& out : outboxes_) {
        out.for_unmoved([&](Sending& message) {
            if (is_late(message)) time_out(message);
        });
    }
    matching_.drop_arrivals([&](const Arrival& arrival) {
        if (arrival.own == nullptr || !is_late(*arrival.own)) return false;
        end(*arrival.own, timed_out(arrival.own->call), -1);
        return true;
    });
    matching_.for_receivings([&](Receiving& receiving) {
        if (is_late(receiving)) time_out(receiving);
    });
}

void Traffic::fail(const Status& status) {
    if (aborted_.ok()) aborted_ = status;
    for (int peer = 0; peer < size_; ++peer) fail(peer, aborted_);
    fail_any(aborted_);
    matching_.drop_arrivals([&](const Arrival& arrival) {
        if (arrival.own != nullptr) end(*arrival.own, aborted_, -1);
        return true;
    });
}

void Traffic::fail(int peer, const Status& status) {
    outbox(peer).fail(status, *this);
    inbox(peer).fail(status, *this);
    matching_.for_receivings([&](Receiving& receiving) {
        if (receiving.call.source != peer) return;
        matching_.remove(receiving);
        end(receiving, status, -1);
    });
}

void Traffic::fail_any(const Status& status) {
    matching_.for_receivings([&](Receiving& receiving) {
        if (receiving.call.source != any_source) return;
        matching_.remove(receiving);
        end(receiving, status, -1);
    });
}

std::vector<int> Traffic::peers_in_use() const {
    std::vector<int> peers;
    for (int peer = 0; peer < size_; ++peer) {
        if (peer != rank_ && is_in_use(peer)) peers.push_back(peer);
    }
    return peers;
}

}  // namespace tutti::shm
