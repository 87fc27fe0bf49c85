// Messages over a channel. A transfer that is under way keeps itself and the engine until it is
// done.
#include "lanes.hpp"

#include <cstring>
#include <optional>

#include "channel_transfer.hpp"
#include "outgoing.hpp"

namespace tutti::message {

AnnouncedArrival::AnnouncedArrival(int from, std::shared_ptr<Listening> with)
    : Arrival(from, with->tag()), listening(std::move(with)) {}

void Lanes::add_to(Messages& messages, Channel& channel,
                   const std::function<bool(int rank)>& has_other_way) {
    const auto lanes = std::make_shared<Lanes>(messages, channel);
    messages.enter([&](Queues& queues) {
        bool has_any = false;
        for (int rank = 0; rank < channel.size(); ++rank) {
            if (rank == channel.rank() || has_other_way(rank)) continue;
            has_any = true;
            lanes->is_lane_[static_cast<size_t>(rank)] = true;
            queues.add(rank, std::make_unique<LanePeer>(queues, lanes, rank));
        }
        if (has_any) {
            queues.add(any_source, std::make_unique<LanePeer>(queues, lanes, any_source));
        }
    });
}

void Lanes::close() noexcept {
    gate_.wait_until_unused();
}

void Lanes::add_waiting(Queues& queues, int source, int tag) {
    const Key key{source, tag};
    ++demands_[key].waiting;
    ask(queues, key);
}

void Lanes::remove_waiting(int source, int tag) noexcept {
    const auto found = demands_.find({source, tag});
    if (--found->second.waiting == 0 && found->second.asked == 0) demands_.erase(found);
}

// Every receive that waits counts on an announcement. Those that nothing waits for any more stay: a
// receive cannot be taken back, for its message may be on its way.
void Lanes::ask(Queues& queues, const Key& key) {
    const auto found = demands_.find(key);
    if (found == demands_.end()) return;
    Demand& demand = found->second;
    for (; demand.asked < demand.waiting; ++demand.asked) to_ask_.push_back(key);
    if (demand.asked == 0) demands_.erase(found);
    if (to_ask_.empty() || is_asking_) return;
    queues.later([this] { listen(); });
    is_asking_ = true;
}

// Posts listeners one after the other, for all threads, so that the channel reports messages in
// their order.
void Lanes::listen() noexcept {
    for (;;) {
        std::optional<Key> key;
        messages_.enter([&](Queues& /*queues*/) {
            is_asking_ = !to_ask_.empty();
            if (!is_asking_) return;
            key = to_ask_.front();
            to_ask_.pop_front();
        });
        if (!key) return;
        std::make_shared<Listening>(keep(), key->first, key->second)->post();
    }
}

void Lanes::announced(const std::shared_ptr<Listening>& listening) noexcept {
    const Key key{listening->source(), listening->tag()};
    messages_.enter([&](Queues& queues) {
        --demands_[key].asked;
        arrive(queues, listening);
        // The receive that asked for the announcement may not be the one that gets it.
        ask(queues, key);
    });
}

void Lanes::arrive(Queues& queues, const std::shared_ptr<Listening>& listening) {
    const Transfer& transfer = listening->transfer();
    const auto fail = [&](const Status& status) {
        queues.fail_waiting(listening->source(), listening->tag(), status);
    };
    if (!transfer.status.ok()) return fail(transfer.status);
    if (transfer.bytes == 0) return;  // it was taken back
    if (!is_lane_[static_cast<size_t>(transfer.peer)]) {
        return fail({TUTTI_ERR_INTERNAL, transfer.peer, 0,
                     cat("rank ", transfer.peer, " sent its message another way")});
    }
    queues.arrive(std::make_unique<AnnouncedArrival>(transfer.peer, listening));
}

void Lanes::post_later(Queues& queues, const std::shared_ptr<Outgoing>& outgoing) {
    if (last_round_ == queues.round()) {
        last_->chain(outgoing);
    } else {
        queues.later([outgoing] { outgoing->post(); });
        last_round_ = queues.round();
    }
    last_ = outgoing.get();
}

void Lanes::flush(int rank) noexcept {
    try {
        const Use use(*this);
        channel_.flush(rank);
    } catch (const Error&) {  // the channel has ended
    }
}

void LanePeer::send(Sending& message) {
    const auto outgoing = std::make_shared<Outgoing>(lanes_->keep(), message, ++sent_);
    lanes_->post_later(queues_, outgoing);
    message.outgoing = outgoing;
    const size_t bytes = message.call.buffer.size();
    const bool joins = std::exchange(round_, queues_.round()) == queues_.round() &&
                       together_ + bytes <= most_together;
    together_ = joins ? together_ + bytes : bytes;
    if (joins) outgoing->follow(*before_);
    before_ = outgoing.get();
}

void LanePeer::withdraw(Sending& message, const Status& status) {
    const auto outgoing = std::static_pointer_cast<Outgoing>(message.outgoing);
    queues_.later([outgoing, status] { outgoing->time_out(status); });
}

bool LanePeer::take(Receiving& receiving, Arrival& arrival) {
    const Listening& message = *static_cast<AnnouncedArrival&>(arrival).listening;
    const auto& header = message.announcement().header;
    const size_t eager = message.transfer().bytes - sizeof header;
    const Status status = receiving.make_room(header.content, header.count, header.dtype, rank_);
    const size_t bytes = receiving.room.size();
    const auto receive_payload = [&](Receiving* into) {
        const auto payload =
            std::make_shared<Payload>(lanes_->keep(), into, rank_, header.sequence);
        queues_.later([payload] { payload->post(); });
    };
    if (!status.ok()) {
        if (eager == 0 && header.count > 0) receive_payload(nullptr);
        queues_.end(receiving, status);
    } else if (eager != Announcement::eager(bytes)) {
        queues_.end(receiving, {TUTTI_ERR_INTERNAL, rank_, 0,
                                cat("rank ", rank_, " announced its message differently")});
    } else if (eager == bytes) {
        if (bytes > 0) {
            std::memcpy(receiving.room.data(), message.announcement().data.data(), bytes);
        }
        receiving.deliver(rank_);
        queues_.end(receiving, {}, rank_);
    } else {
        receiving.has_message = true;
        receive_payload(&receiving);
    }
    return true;
}

}  // namespace tutti::message
