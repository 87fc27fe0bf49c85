// Under the lock of the Messages.
#include "queues.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace tutti::message {

void Deferred::run(Doorbell& doorbell) noexcept {
    if (wakes) doorbell.ring_after_exchange();
    if (to_flush != nullptr) to_flush->flush();
    for (const auto& call : calls) call();
    calls.clear();
    if (ended.empty()) return;
    const auto now = Work::Clock::now();
    while (!ended.empty()) {
        const std::unique_ptr<Operation> operation(&ended.take_front());
        operation->work->finish(std::move(operation->status), operation->source, now);
    }
    doorbell.ring_after_exchange();  // threads may wait for one of them
}

Queues::Queues(int rank, int size)
    : rank_(rank),
      matching_(rank, size),
      peers_(static_cast<size_t>(size)),
      in_use_(static_cast<size_t>(size) / 64 + 1) {}

void Queues::add(int rank, std::unique_ptr<Peer> peer) {
    if (rank == any_source) {
        anybody_ = std::move(peer);
        return;
    }
    if (peer->is_driven()) driven_.push_back(rank);
    peers_[static_cast<size_t>(rank)] = std::move(peer);
}

bool Queues::is_driven(int peer) const {
    if (peer == any_source || peer == rank_) return !driven_.empty();
    return this->peer(peer)->is_driven();
}

void Queues::end(Operation& operation, const Status& status, int source) noexcept {
    operation.leave_list();
    expiries_.remove(operation);
    operation.status = status;
    operation.source = source;
    if (operation.work) {
        if (operation.is_driven) --in_background_;
        ended_.push_back(operation);
        return;
    }
    if (&operation == driver_) {
        operation.done.store(true, std::memory_order_release);
        return;
    }
    operation.done.exchange(true, std::memory_order_seq_cst);
    wakes_ = true;
}

void Queues::admit(Operation& operation) {
    if (!operation.work) return;
    operation.is_driven = is_driven(operation);
    if (operation.is_driven) ++in_background_;
    expiries_.add(operation);
}

void Queues::post(Sending& message) {
    const int destination = message.call.destination;
    if (!aborted_.ok()) throw Error(aborted_);
    if (message.work) expiries_.make_room();
    if (destination != rank_) {
        peer(destination)->send(message);
        admit(message);
        if (!is_driven(message)) return;
        note(destination);
        begin(destination);
        return;
    }
    auto arrival = std::make_unique<Arrival>(rank_, message.call.tag);
    arrival->own = &message;
    admit(message);
    arrive(std::move(arrival));
}

void Queues::post(Receiving& receiving) {
    if (!aborted_.ok()) throw Error(aborted_);
    const int source = receiving.call.source;
    if (source >= 0 && source != rank_) {
        if (const Status& broken = peer(source)->broken(); !broken.ok()) throw Error(broken);
    }
    if (receiving.work) expiries_.make_room();
    receiving.turn = ++turns_;
    admit(receiving);
    join(receiving);
}

// Takes what has come, or waits for it.
void Queues::join(Receiving& receiving) {
    if (take_arrival(receiving)) return;
    wait_for_message(receiving);
    const int source = receiving.call.source;
    if (source == any_source) {
        advance();
    } else if (source != rank_ && is_driven(source)) {
        note(source);
        begin(source);
    }
}

void Queues::rejoin(Receiving& receiving) {
    receiving.has_message = false;
    const bool is_late = receiving.is_late || (receiving.work && receiving.deadline.expired());
    if (!aborted_.ok()) return end(receiving, aborted_);
    if (is_late) return end(receiving, timed_out(receiving.call));
    join(receiving);
}

// The first message that has come for it and was not taken back since.
bool Queues::take_arrival(Receiving& receiving) {
    while (Arrival* const first = matching_.find_arrival(receiving.call)) {
        const auto arrival = matching_.remove(*first);
        if (arrival->own != nullptr) {
            hand_over(*arrival->own, receiving);
            return true;
        }
        Peer& sender = *peer(arrival->source);
        if (sender.is_driven()) note(arrival->source);  // its data may be still to come
        if (sender.take(receiving, *arrival)) return true;
    }
    return false;
}

void Queues::arrive(std::unique_ptr<Arrival> arrival) {
    if (!aborted_.ok()) return;
    Receiving* const receiving = matching_.find_receiving(arrival->source, arrival->tag);
    if (receiving == nullptr) return matching_.add(std::move(arrival));
    stop_waiting(*receiving);
    if (arrival->own != nullptr) return hand_over(*arrival->own, *receiving);
    if (!peer(arrival->source)->take(*receiving, *arrival)) rejoin(*receiving);
}

void Queues::hand_over(Sending& message, Receiving& receiving) {
    const ConstView& data = message.call.buffer;
    const Status status = receiving.make_room(message.call.content, data.count, data.dtype, rank_);
    if (status.ok()) {
        if (!receiving.room.empty()) {
            std::memcpy(receiving.room.data(), data.data, receiving.room.size());
        }
        receiving.deliver(rank_);
    }
    end(receiving, status, status.ok() ? rank_ : -1);
    end(message, status);
}

void Queues::wait_for_message(Receiving& receiving) {
    try {
        if (Peer* const asked = asked_by(receiving.call)) asked->add_waiting(receiving.call.tag);
    } catch (...) {
        return end(receiving, current_status());
    }
    matching_.add(receiving);
}

void Queues::stop_waiting(Receiving& receiving) {
    matching_.remove(receiving);
    if (receiving.call.source == any_source) ++taken_from_any_;
    if (Peer* const asked = asked_by(receiving.call)) asked->remove_waiting(receiving.call.tag);
}

bool Queues::advance() {
    bool moved = false;
    if (matching_.waits_for_any()) {
        // Peers that always have a message take turns.
        const size_t first = first_asked_;
        for (size_t step = 0; step < driven_.size(); ++step) {
            const size_t index = (first + step) % driven_.size();
            const uint64_t taken = taken_from_any_;
            moved |= advance(driven_[index]);
            if (taken_from_any_ != taken) first_asked_ = (index + 1) % driven_.size();
        }
        return moved;
    }
    for (size_t word = 0; word < in_use_.size(); ++word) {
        for (uint64_t left = in_use_[word]; left != 0; left &= left - 1) {
            moved |= advance(static_cast<int>(word) * 64 + std::countr_zero(left));
        }
    }
    return moved;
}

bool Queues::advance(int peer) {
    return with(peer, [](Peer& one) { return one.advance(); });
}

void Queues::begin(int peer) {
    with(peer, [](Peer& one) { return one.begin(); });
}

template <typename Act>
bool Queues::with(int peer, Act&& act) {
    Peer& one = *this->peer(peer);
    const bool moved = act(one);
    if (const Status& broken = one.broken(); !broken.ok()) fail(peer, broken);
    if (is_in_use(peer)) {
        note(peer);
    } else {
        in_use_[static_cast<size_t>(peer) / 64] &= ~bit(peer);
    }
    return moved;
}

bool Queues::is_in_use(int peer) const {
    return this->peer(peer)->is_busy() || matching_.wants(peer);
}

bool Queues::is_streaming() const {
    return std::ranges::any_of(driven_, [this](int one) { return peer(one)->is_streaming(); });
}

bool Queues::cancel(const Work& receive, const Status& status) {
    Receiving* const receiving = matching_.find_receiving(receive);
    if (receiving == nullptr) return false;
    stop_waiting(*receiving);
    end(*receiving, status);
    return true;
}

void Queues::time_out(Sending& message) {
    message.is_late = true;
    const Status status = timed_out(message.call);
    if (message.call.destination != rank_) {
        return peer(message.call.destination)->withdraw(message, status);
    }
    if (message.arrival != nullptr) matching_.remove(*message.arrival);
    end(message, status);
}

void Queues::time_out(Receiving& receiving) {
    receiving.is_late = true;
    if (receiving.has_message) return;
    stop_waiting(receiving);
    end(receiving, timed_out(receiving.call));
}

void Queues::expire(TimePoint now) {
    while (Operation* const late = expiries_.take_late(now)) {
        if (!late->is_late) late->time_out(*this);
    }
}

template <typename Chosen>
void Queues::fail_waiting_where(Chosen&& chosen, const Status& status) {
    matching_.for_receivings([&](Receiving& receiving) {
        if (!chosen(receiving.call)) return;
        stop_waiting(receiving);
        end(receiving, status);
    });
}

void Queues::fail_waiting(int source, int tag, const Status& status) {
    while (Receiving* const receiving = matching_.find_started(source, tag)) {
        stop_waiting(*receiving);
        end(*receiving, status);
    }
}

void Queues::fail(const Status& status) {
    if (aborted_.ok()) aborted_ = status;
    for (const auto& one : peers_) {
        if (one) one->fail(aborted_);
    }
    fail_waiting_where([](const Receive& /*call*/) { return true; }, aborted_);
    matching_.drop_arrivals([&](const Arrival& arrival) {
        if (arrival.own != nullptr) end(*arrival.own, aborted_);
        return true;
    });
}

void Queues::fail(int peer, const Status& status) {
    this->peer(peer)->fail(status);
    fail_waiting_where([peer](const Receive& call) { return call.source == peer; }, status);
}

void Queues::fail_any_if_alone(size_t gone) {
    if (gone == 0 || gone + 1 < peers_.size()) return;
    fail_waiting_where([](const Receive& call) { return call.source == any_source; },
                       {TUTTI_ERR_PEER_LOST, -1, 0, "all other ranks left the group"});
}

std::vector<int> Queues::peers_in_use() const {
    std::vector<int> peers;
    std::ranges::copy_if(driven_, std::back_inserter(peers),
                         [this](int peer) { return is_in_use(peer); });
    return peers;
}

std::vector<Peer*> Queues::all_peers() const {
    std::vector<Peer*> all{anybody_.get()};
    for (const auto& one : peers_) all.push_back(one.get());
    std::erase(all, nullptr);
    return all;
}

}  // namespace tutti::message
