#include "channel_transfer.hpp"

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace tutti::message {

bool ChannelTransfer::post() noexcept {
    const auto self = keep();
    try {
        use_.emplace(*lanes_);
        transfer_.listener = self;
        post_to(lanes_->channel(), transfer_);
    } catch (...) {
        transfer_.status = current_status();
        pending_ = 1;
        come();
        leave();
        return false;
    }
    leave();
    return true;
}

void ChannelTransfer::transfer_done(Transfer& /*transfer*/) noexcept {
    const auto self = keep();
    come();
    leave();
}

void ChannelTransfer::leave() noexcept {
    if (--pending_ > 0) return;
    {
        const Lock lock(mutex_);
        withdraw();
    }
    end();
    use_.reset();
    lanes_.reset();
}

bool ChannelTransfer::stop() noexcept {
    const Lock lock(mutex_);
    if (!transfer_.hold || !transfer_.hold->stop()) return false;
    withdraw();
    use_.reset();
    return true;
}

void ChannelTransfer::withdraw() noexcept {
    transfer_.hold.reset();
    transfer_.listener.reset();
}

void Listening::post_to(Channel& channel, Transfer& transfer) {
    const Slot slot = Slot::announcement(tag_);
    if (source_ == any_source) {
        channel.post_receive_any(transfer, slot, &announcement_, sizeof announcement_);
    } else {
        channel.post_receive(transfer, source_, slot, &announcement_, sizeof announcement_);
    }
}

void Payload::post_to(Channel& channel, Transfer& transfer) {
    const Bytes room = receiving_ == nullptr ? Bytes() : receiving_->room;
    channel.post_receive(transfer, source_, Slot::payload(sequence_), room.data(), room.size());
}

void Payload::end() noexcept {
    if (receiving_ == nullptr) return;
    const Transfer& came = transfer();
    lanes().messages().enter([&](Queues& queues) {
        Receiving& receiving = *receiving_;
        const size_t wanted = receiving.room.size();
        if (!came.status.ok()) {
            queues.end(receiving, came.status);
        } else if (came.bytes == 0) {
            queues.rejoin(receiving);
        } else if (came.bytes != wanted) {
            queues.end(receiving, {TUTTI_ERR_INTERNAL, source_, 0,
                                   cat("rank ", source_, " sent ", came.bytes,
                                       " bytes where it had announced ", wanted)});
        } else {
            receiving.deliver(source_);
            queues.end(receiving, {}, source_);
        }
    });
}

}  // namespace tutti::message
