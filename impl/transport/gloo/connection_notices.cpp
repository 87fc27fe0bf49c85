// Matching. The protocol is Gloo's: each side gives notice of its sends and its receives, and who
// knows of both sends. A receive that is posted before it hears of the send will hear of it still.
#include <mutex>
#include <utility>

#include "connection.hpp"

namespace tutti::gloo_channel {

void Connection::receive_message(Completions& /*open*/, Request::Weak buffer, WireSlot slot,
                                 size_t bytes) {
    std::unique_lock<std::mutex> lock(m_);
    throwIfException();
    verifyConnected(lock);
    if (!notices_.take(slot.value(), rank_)) expected_.add(slot.value());
    post_receive(std::move(buffer), slot.value(), bytes);
}

bool Connection::try_receive(Completions& /*open*/, Request& request, WireSlot slot) {
    std::unique_lock<std::mutex> lock(m_);
    throwIfException();
    verifyConnected(lock);
    if (!notices_.take(slot.value(), rank_)) return false;
    post_receive(request.weak(), slot.value(), request.size);
    return true;
}

void Connection::post_send(Weak buffer, uint64_t slot, size_t bytes) {
    std::unique_lock<std::mutex> lock(m_);
    throwIfException();
    verifyConnected(lock);
    if (awaited_.take(slot)) {
        sendNotifySendReady(slot, bytes);
        sendUnboundBuffer(std::move(buffer), slot, 0, bytes);
        return;
    }
    localPendingSend_[slot].emplace_back(std::move(buffer), 0, bytes);
    sendNotifySendReady(slot, bytes);
}

void Connection::post_receive(Weak buffer, uint64_t slot, size_t bytes) {
    localPendingRecv_[slot].emplace_back(std::move(buffer), 0, bytes);
    sendNotifyRecvReady(slot, bytes);
}

void Connection::take_notice(Op::Opcode opcode, uint64_t slot) {
    if (opcode == Op::NOTIFY_SEND_READY) {
        if (expected_.take(slot)) return;
        if (auto waiting = notices_.give(slot, rank_, *this)) {
            post_receive(std::move(waiting->buffer), slot, waiting->bytes);
        }
        return;
    }
    const auto sends = localPendingSend_.find(slot);
    if (sends == localPendingSend_.end()) return awaited_.add(slot);
    auto [buffer, offset, bytes] = std::move(sends->second.front());
    sends->second.pop_front();
    if (sends->second.empty()) localPendingSend_.erase(sends);
    sendUnboundBuffer(std::move(buffer), slot, offset, bytes);
}

bool Connection::Counts::take(uint64_t slot) {
    const auto found = counts_.find(slot);
    if (found == counts_.end()) return false;
    if (--found->second == 0) counts_.erase(found);
    return true;
}

void Connection::Counts::forget(uint32_t group_id) {
    std::erase_if(counts_,
                  [=](const auto& entry) { return WireSlot(entry.first).group() == group_id; });
}

}  // namespace tutti::gloo_channel
