#include "group.hpp"

#include <gloo/common/error.h>

#include <chrono>
#include <utility>

namespace tutti::gloo_module {

namespace {

// The membership says in this time which rank is dead, once a connection has closed.
constexpr auto patience = std::chrono::seconds(2);

}  // namespace

Group::Group(const tutti_backend_place& place, const Settings& settings, Connection connection)
    : connection_(std::move(connection)),
      collectives_(place, settings.has_pytorch_peers,
                   gated_context(connection_.device, connection_.context, collectives_gate_)),
      last_of_(static_cast<size_t>(place.size), -1) {
    auto context = gated_context(connection_.device, connection_.context, messages_gate_);
    if (settings.has_pytorch_peers) {
        plain_messages_ = std::make_unique<PlainMessages>(place, std::move(context));
        return;
    }
    messages_ =
        std::make_unique<Messages>(place, std::move(context), messages_gate_,
                                   [this](int rank, uint64_t last) { has_left(rank, last); });
}

Group::~Group() {
    abort({TUTTI_ERR_ABORTED, "the group was destroyed"});
    messages_.reset();
    plain_messages_.reset();
}

void Group::post(const tutti_backend_call* call) {
    if (call->kind == TUTTI_CALL_SEND || call->kind == TUTTI_CALL_RECEIVE) {
        return plain_messages_ ? plain_messages_->post(call) : messages_->post(call);
    }
    last_ = call->sequence;
    {
        const std::lock_guard lock(mutex_);
        if (const Failure gone = left_before(call->sequence); gone.status != TUTTI_OK) throw gone;
        running_ = call->sequence;
    }
    Failure failure;
    try {
        collectives_gate_.check();
        collectives_.run(*call);
    } catch (const Failure& caught) {
        failure = settled(caught, call->sequence);
    } catch (const Interrupted&) {
        failure = {TUTTI_ERR_INTERNAL, "a wait of Gloo's was ended by nobody"};
    }
    const std::lock_guard lock(mutex_);
    running_ = 0;
    if (failure.status != TUTTI_OK) throw failure;
}

// A connection that closes may be that of a rank which leaves or fails because another one is dead.
Failure Group::settled(const Failure& failure, uint64_t sequence) {
    if (failure.status == TUTTI_ERR_TIMEOUT && failure.awaited >= 0) {
        const int late = failure.awaited;
        return {TUTTI_ERR_TIMEOUT, "timed out waiting for rank " + std::to_string(late), late};
    }
    if (plain_messages_) return as_lost(failure);
    if (failure.status != TUTTI_ERR_NETWORK) return failure;
    if (!collectives_gate_.wait_until_closed(patience)) return failure;
    {
        const std::lock_guard lock(mutex_);
        if (Failure gone = left_before(sequence); gone.status != TUTTI_OK) return gone;
    }
    try {
        collectives_gate_.check();
    } catch (const Failure& why) {
        return why;
    }
    return failure;
}

// A rank that has left takes no part in what it has not called. The caller holds the lock.
Failure Group::left_before(uint64_t sequence) const {
    for (size_t rank = 0; rank < last_of_.size(); ++rank) {
        const int64_t last = last_of_[rank];
        if (last < 0 || sequence <= static_cast<uint64_t>(last)) continue;
        return {TUTTI_ERR_PEER_LOST, "rank " + std::to_string(rank) + " left the group",
                static_cast<int>(rank)};
    }
    return {};
}

// Runs on the thread that receives messages.
void Group::has_left(int rank, uint64_t last) {
    Failure gone;
    {
        const std::lock_guard lock(mutex_);
        last_of_[static_cast<size_t>(rank)] = static_cast<int64_t>(last);
        if (running_ != 0) gone = left_before(running_);
    }
    if (gone.status != TUTTI_OK) collectives_gate_.close(gone);
}

void Group::abort(const Failure& why) noexcept {
    collectives_gate_.close(why);
    messages_gate_.close(why);
    if (messages_) messages_->abort(why);
}

void Group::leave() {
    if (messages_) messages_->leave(last_);
}

int32_t Group::cancel(const tutti_backend_call* call) {
    return messages_ ? messages_->cancel(call) : -1;
}

}  // namespace tutti::gloo_module
