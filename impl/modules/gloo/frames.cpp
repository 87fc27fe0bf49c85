// Receives the frames of messages, on a thread of the group.
#include <gloo/common/error.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "messages.hpp"

namespace tutti::gloo_module {

Failure Messages::left(int rank) const {
    return {TUTTI_ERR_PEER_LOST, "rank " + std::to_string(rank) + " left the group", rank};
}

bool Messages::suits(const tutti_backend_call& receive, const Arrived& arrived) const {
    if (receive.tag != arrived.frame.tag) return false;
    return receive.peer < 0 ? arrived.source != rank_ : receive.peer == arrived.source;
}

// The caller holds the lock.
bool Messages::nobody_sends(const tutti_backend_call* call) const {
    if (call->peer >= 0) return is_gone_[static_cast<size_t>(call->peer)];
    return size_ > 1 && std::ranges::count(is_gone_, true) == size_ - 1;
}

std::vector<int> Messages::connected_ranks() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < size_; ++rank) {
        if (rank != rank_ && context_->getPair(rank)->isConnected()) ranks.push_back(rank);
    }
    return ranks;
}

// Returns the source of the frame; -1: no rank is connected.
int Messages::receive_frame(std::vector<char>& room) {
    const std::vector<int> ranks = connected_ranks();
    if (ranks.empty()) {
        gate_.wait_until_closed(std::chrono::hours(1));
        return -1;
    }
    int source = -1;
    const auto buffer = context_->createUnboundBuffer(room.data(), room.size());
    buffer->recv(ranks, frame_slot);
    buffer->waitRecv(&source);
    return source;
}

void Messages::receive_frames() {
    std::vector<char> room(sizeof(Frame) + max_short);
    while (!gate_.is_closed()) {
        try {
            const int source = receive_frame(room);
            if (source >= 0) take(source, room);
        } catch (const Failure&) {
            // A connection has closed: the others go on. The membership says what it means.
            gate_.wait_until_closed(std::chrono::milliseconds(1));
        } catch (const Interrupted&) {
        }
    }
}

void Messages::take(int source, const std::vector<char>& room) {
    Frame frame{};
    std::memcpy(&frame, room.data(), sizeof frame);
    Ends ends;
    {
        const std::lock_guard lock(mutex_);
        if (frame.kind == Short || frame.kind == Announce) {
            Arrived arrived{source, frame, {}};
            const auto bytes = std::clamp<int64_t>(frame.bytes, 0, max_short);
            const char* const data = room.data() + sizeof frame;
            if (frame.kind == Short) arrived.data.assign(data, data + bytes);
            take_message(std::move(arrived), ends);
        } else if (frame.kind == Goodbye) {
            take_goodbye(source, static_cast<uint64_t>(frame.bytes), ends);
        } else {
            take_answer(source, frame, ends);
        }
        changed_.notify_all();
    }
    finish(ends);
    if (frame.kind == Goodbye) has_left_(source, static_cast<uint64_t>(frame.bytes));
}

// Here and below the caller holds the lock.
void Messages::take_message(Arrived arrived, Ends& ends) {
    const auto found = std::ranges::find_if(
        waiting_, [&](const tutti_backend_call* call) { return suits(*call, arrived); });
    if (found == waiting_.end()) {
        arrived_.push_back(std::move(arrived));
        return;
    }
    const tutti_backend_call* const call = *found;
    waiting_.erase(found);
    match(call, arrived, ends);
}

void Messages::match(const tutti_backend_call* call, const Arrived& arrived, Ends& ends) {
    const Frame& frame = arrived.frame;
    const int64_t bytes = call->outputs->count * call->element_size;
    if (frame.dtype != call->dtype || frame.bytes != bytes) {
        if (arrived.source != rank_) {
            const uint32_t answer = frame.kind == Announce ? Refuse : Taken;
            queue(arrived.source, {answer, 0, 0, 0, 0, frame.id});
        }
        ends.push_back(
            {call,
             {TUTTI_ERR_MISMATCH,
              "rank " + std::to_string(arrived.source) + " sends " + std::to_string(frame.bytes) +
                  " bytes of dtype " + std::to_string(frame.dtype) + ", and this receive is for " +
                  std::to_string(bytes) + " of dtype " + std::to_string(call->dtype),
              arrived.source},
             arrived.source});
        return;
    }
    if (frame.kind == Announce) {
        const Key key{arrived.source, frame.id};
        fetches_.emplace(key, Fetch{call});
        fetcher_.add([this, key] { fetch(key); });
        return;
    }
    if (arrived.source != rank_) queue(arrived.source, {Taken, 0, 0, 0, 0, frame.id});
    if (bytes > 0) std::memcpy(call->outputs->data, arrived.data.data(), arrived.data.size());
    ends.push_back({call, {}, arrived.source});
}

void Messages::take_answer(int source, const Frame& frame, Ends& ends) {
    if (frame.kind == Withdraw) return take_withdrawal(source, frame.id);
    if (frame.kind == GoodbyeHeard) {
        has_heard_[static_cast<size_t>(source)] = true;
        return;
    }
    if (frame.kind == Withdrawn) {
        return end_sent(source, frame.id, {TUTTI_ERR_ABORTED, "it was cancelled"}, ends);
    }
    if (frame.kind == Refuse || frame.kind == Taken) return end_sent(source, frame.id, {}, ends);
    const auto found = sent_.find(frame.id);
    if (found == sent_.end() || found->second->peer != source) return;  // it was withdrawn
    const tutti_backend_call* const call = found->second;
    sent_.erase(found);
    ++unsent_;
    sender_.add([this, source, id = frame.id, call] { transmit_data(source, id, call); });
}

void Messages::end_sent(int destination, uint64_t id, const Failure& failure, Ends& ends) {
    const auto found = sent_.find(id);
    if (found == sent_.end() || found->second->peer != destination) return;
    ends.push_back({found->second, failure});
    sent_.erase(found);
}

void Messages::take_withdrawal(int source, uint64_t id) {
    const auto waiting = std::ranges::find_if(
        arrived_, [&](const Arrived& one) { return one.source == source && one.frame.id == id; });
    if (waiting != arrived_.end()) {
        if (waiting->frame.kind == Short) queue(source, {Withdrawn, 0, 0, 0, 0, id});
        arrived_.erase(waiting);
    }
    const auto found = fetches_.find({source, id});
    if (found == fetches_.end()) return;
    found->second.is_withdrawn = true;
    if (found->second.buffer != nullptr) found->second.buffer->abortWaitRecv();
}

void Messages::take_goodbye(int source, uint64_t /*last*/, Ends& ends) {
    is_gone_[static_cast<size_t>(source)] = true;
    queue(source, {GoodbyeHeard, 0, 0, 0, 0, 0});
    std::erase_if(sent_, [&](const auto& one) {
        if (one.second->peer != source) return false;
        ends.push_back({one.second, left(source)});
        return true;
    });
    waiting_.remove_if([&](const tutti_backend_call* call) {
        if (!nobody_sends(call)) return false;
        ends.push_back({call, left(source)});
        return true;
    });
}

}  // namespace tutti::gloo_module
