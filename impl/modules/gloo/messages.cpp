#include "messages.hpp"

#include <gloo/common/error.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tutti::gloo_module {

namespace {

// The membership says in this time which rank is dead, once a connection has closed.
constexpr auto patience = std::chrono::seconds(2);
constexpr auto time_to_leave = std::chrono::seconds(1);

int64_t size_of(const tutti_piece& piece, const tutti_backend_call& call) {
    return piece.count * call.element_size;
}

std::vector<char> bytes_of(const void* data, size_t bytes) {
    const char* const begin = static_cast<const char*>(data);
    return bytes == 0 ? std::vector<char>() : std::vector<char>(begin, begin + bytes);
}

}  // namespace

Messages::Messages(const tutti_backend_place& place, std::shared_ptr<gloo::Context> context,
                   Gate& gate, HasLeft has_left)
    : host_(*place.host),
      rank_(place.rank),
      size_(place.size),
      context_(std::move(context)),
      gate_(gate),
      has_left_(std::move(has_left)),
      has_heard_(static_cast<size_t>(size_)),
      is_gone_(static_cast<size_t>(size_)) {
    if (size_ == 1) return;
    const BlockedSignals blocked;
    receiver_ = std::thread([this] { receive_frames(); });
}

// The gate is closed.
Messages::~Messages() {
    if (receiver_.joinable()) receiver_.join();
    fetcher_.close();
    sender_.close();
}

void Messages::finish(const Ends& ends) const {
    for (const End& end : ends) {
        if (end.failure.status == TUTTI_OK) {
            host_.finish(end.call, TUTTI_OK, end.source, nullptr);
            continue;
        }
        tutti_error error = TUTTI_ERROR_INIT;
        host_.finish(end.call, report(end.failure, &error), end.source, &error);
    }
}

void Messages::post(const tutti_backend_call* call) {
    gate_.check();
    if (call->kind == TUTTI_CALL_SEND) {
        send(call);
    } else {
        receive(call);
    }
    // It may have been closed before the call was in a list.
    if (!gate_.is_closed()) return;
    try {
        gate_.check();
    } catch (const Failure& why) {
        abort(why);
    }
}

void Messages::receive(const tutti_backend_call* call) {
    Ends ends;
    {
        const std::lock_guard lock(mutex_);
        auto found = arrived_.begin();
        while (found != arrived_.end() && !suits(*call, *found)) ++found;
        if (found != arrived_.end()) {
            const Arrived arrived = std::move(*found);
            arrived_.erase(found);
            match(call, arrived, ends);
        } else if (nobody_sends(call)) {
            throw left(call->peer >= 0 ? call->peer : (rank_ + 1) % size_);
        } else {
            waiting_.push_back(call);
        }
    }
    finish(ends);
}

void Messages::send(const tutti_backend_call* call) {
    const int64_t bytes = size_of(*call->inputs, *call);
    Frame frame{Short, call->tag, call->dtype, 0, bytes, 0};
    Ends ends;
    {
        const std::lock_guard lock(mutex_);
        if (is_gone_[static_cast<size_t>(call->peer)]) throw left(call->peer);
        if (call->peer == rank_) {
            ends.push_back({call, {}});
            take_message({rank_, frame,
                          gloo_module::bytes_of(call->inputs->data, static_cast<size_t>(bytes))},
                         ends);
        } else if (bytes <= static_cast<int64_t>(max_short)) {
            frame.id = ++last_id_;
            std::vector<char> whole = gloo_module::bytes_of(&frame, sizeof frame);
            const auto* const data = static_cast<const char*>(call->inputs->data);
            if (bytes > 0) whole.insert(whole.end(), data, data + bytes);
            sent_.emplace(frame.id, call);
            ++unsent_;
            sender_.add([this, peer = call->peer, whole = std::move(whole), id = frame.id] {
                transmit(peer, whole, id);
            });
        } else {
            frame.kind = Announce;
            frame.id = ++last_id_;
            sent_.emplace(frame.id, call);
            queue(call->peer, frame);
        }
    }
    finish(ends);
}

// The caller holds the lock.
void Messages::queue(int peer, const Frame& frame) {
    ++unsent_;
    sender_.add([this, peer, frame] {
        transmit(peer, gloo_module::bytes_of(&frame, sizeof frame),
                 frame.kind == Announce ? frame.id : 0);
    });
}

template <typename Act>
Failure Messages::failure_of(Act&& act) const {
    try {
        act();
        return {};
    } catch (const Failure& failure) {
        return settled(failure);
    } catch (const std::bad_alloc&) {
        return {TUTTI_ERR_OUT_OF_MEMORY, "no memory for a message"};
    } catch (const std::exception& error) {
        return {TUTTI_ERR_BACKEND, error.what()};
    }
}

// A connection that closes may be that of a rank which leaves or fails because another one is dead.
Failure Messages::settled(const Failure& failure) const {
    if (failure.status != TUTTI_ERR_NETWORK) return failure;
    {
        const std::lock_guard lock(mutex_);
        if (failure.rank >= 0 && is_gone_[static_cast<size_t>(failure.rank)]) {
            return left(failure.rank);
        }
    }
    if (!gate_.wait_until_closed(patience)) return failure;
    try {
        gate_.check();
    } catch (const Failure& why) {
        return why;
    }
    return failure;
}

// Runs on the sender's thread. `id`: of the message that the frame is of, which ends if it cannot
// leave; 0: of none.
void Messages::transmit(int peer, const std::vector<char>& frame, uint64_t id) {
    const Failure failure = failure_of([&] {
        const auto buffer =
            context_->createUnboundBuffer(const_cast<char*>(frame.data()), frame.size());
        buffer->send(peer, frame_slot);
        buffer->waitSend();
    });
    Ends ends;
    {
        const std::lock_guard lock(mutex_);
        if (failure.status != TUTTI_OK && id != 0) end_sent(peer, id, failure, ends);
        --unsent_;
        changed_.notify_all();
    }
    finish(ends);
}

// Runs on the sender's thread. The receiver waits for the data.
void Messages::transmit_data(int peer, uint64_t id, const tutti_backend_call* call) {
    const Failure failure = failure_of([&] {
        const auto bytes = static_cast<size_t>(size_of(*call->inputs, *call));
        const auto buffer = context_->createUnboundBuffer(call->inputs->data, bytes);
        buffer->send(peer, data_slot | id);
        buffer->waitSend();
    });
    finish({{call, failure}});
    const std::lock_guard lock(mutex_);
    --unsent_;
    changed_.notify_all();
}

// Runs on the fetcher's thread.
void Messages::fetch(Key key) {
    const int source = key.first;
    const uint64_t id = key.second;
    const tutti_backend_call* call = nullptr;
    {
        const std::lock_guard lock(mutex_);
        call = fetches_.at(key).call;
    }
    bool is_withdrawn = false;
    const Failure failure = failure_of([&] {
        const auto bytes = static_cast<size_t>(size_of(*call->outputs, *call));
        const auto buffer = context_->createUnboundBuffer(call->outputs->data, bytes);
        buffer->recv(source, data_slot | id);
        {
            const std::lock_guard lock(mutex_);
            Fetch& fetch = fetches_.at(key);
            is_withdrawn = fetch.is_withdrawn;
            if (!is_withdrawn) {
                fetch.buffer = buffer.get();
                queue(source, {Ready, 0, 0, 0, 0, id});
            }
        }
        try {
            if (!is_withdrawn) buffer->waitRecv();
        } catch (const Interrupted&) {
            is_withdrawn = true;
        } catch (...) {
            const std::lock_guard lock(mutex_);
            fetches_.at(key).buffer = nullptr;
            throw;
        }
        const std::lock_guard lock(mutex_);
        fetches_.at(key).buffer = nullptr;
    });
    Ends ends;
    {
        const std::lock_guard lock(mutex_);
        fetches_.erase(key);
        if (is_withdrawn && failure.status == TUTTI_OK && !gate_.is_closed()) {
            auto found = arrived_.begin();
            while (found != arrived_.end() && !suits(*call, *found)) {
                ++found;
            }
            if (found == arrived_.end()) {
                waiting_.push_front(call);
            } else {
                const Arrived arrived = std::move(*found);
                arrived_.erase(found);
                match(call, arrived, ends);
            }
        } else {
            ends.push_back({call, failure, source});
        }
    }
    finish(ends);
}

// Takes back a message whose data have not begun to move, or a receive that has no message yet. The
// receiver says whether a short message has come to its receive meanwhile.
int32_t Messages::cancel(const tutti_backend_call* call) {
    {
        const std::lock_guard lock(mutex_);
        bool is_found = false;
        for (auto one = sent_.begin(); one != sent_.end() && !is_found; ++one) {
            if (one->second != call) continue;
            is_found = true;
            queue(call->peer, {Withdraw, 0, 0, 0, 0, one->first});
            if (size_of(*call->inputs, *call) <= static_cast<int64_t>(max_short)) return 1;
            sent_.erase(one);
            break;
        }
        const size_t before = waiting_.size();
        waiting_.remove(call);
        if (!is_found && waiting_.size() == before) return 0;
    }
    finish({{call, {TUTTI_ERR_ABORTED, "it was cancelled"}}});
    return 1;
}

void Messages::leave(uint64_t last_sequence) {
    if (size_ == 1) return;
    const auto until = std::chrono::steady_clock::now() + time_to_leave;
    std::unique_lock lock(mutex_);
    // Short ones need no receive: their data are in the frames.
    const auto is_long = [](const auto& one) {
        return size_of(*one.second->inputs, *one.second) > static_cast<int64_t>(max_short);
    };
    changed_.wait_until(lock, until,
                        [&] { return std::ranges::none_of(sent_, is_long) || gate_.is_closed(); });
    for (int rank = 0; rank < size_; ++rank) {
        if (rank == rank_ || is_gone_[static_cast<size_t>(rank)]) continue;
        queue(rank, {Goodbye, 0, 0, 0, static_cast<int64_t>(last_sequence), 0});
    }
    while (std::chrono::steady_clock::now() < until && !gate_.is_closed()) {
        bool have_all = unsent_ == 0;
        for (int rank = 0; have_all && rank < size_; ++rank) {
            const auto index = static_cast<size_t>(rank);
            have_all =
                rank == rank_ || has_heard_[index] || !context_->getPair(rank)->isConnected();
        }
        if (have_all) return;
        changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
}

void Messages::abort(const Failure& why) {
    Ends ends;
    {
        const std::lock_guard lock(mutex_);
        for (const auto* const call : waiting_) ends.push_back({call, why});
        for (const auto& [id, call] : sent_) ends.push_back({call, why});
        waiting_.clear();
        sent_.clear();
        changed_.notify_all();
    }
    finish(ends);
}

}  // namespace tutti::gloo_module
