// One thread at a time has a receive in its hands: who takes it out of its lane, then who completes
// its transfer.
#include "receiving.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"
#include "listening.hpp"
#include "sending.hpp"
#include "using.hpp"

namespace tutti {

void Receiving::set_alarm(const Deadline& deadline) {
    alarm_ = engine_->alarm_->set(deadline, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->time_out();
    });
    if (finished_) engine_->alarm_->clear(alarm_);  // before it was set
}

Receiving::Taken Receiving::take(const Arrival& arrival) {
    source_ = arrival.source;
    if (!arrival.local) return take_remote(*arrival.remote);
    take_local(*arrival.local);
    return Taken::Yes;
}

void Receiving::take_local(Sending& message) {
    const ConstView& data = message.call.buffer;
    const Status status = make_room(message.call.content, data.count, data.dtype);
    if (status.ok()) {
        copy(data.data);
    } else {
        finish(status);
    }
    message.finish_claimed(status);
}

Receiving::Taken Receiving::take_remote(const Listening& message) {
    const auto& header = message.announcement.header;
    const size_t eager = message.transfer.bytes - sizeof header;
    if (const Status status = make_room(header.content, header.count, header.dtype); !status.ok()) {
        finish(status);
        if (eager == 0 && header.count > 0) engine_->drain(source_, header.number);
    } else if (eager != Announcement::eager(room_.size())) {
        finish({TUTTI_ERR_INTERNAL, source_, 0,
                cat("rank ", source_, " announced its message differently")});
    } else if (eager == room_.size()) {
        copy(message.announcement.data.data());
    } else {
        return receive_body(header.number);
    }
    return Taken::Yes;
}

bool Receiving::fits(Content content, int64_t count, tutti_dtype dtype) const {
    if (content != call.content) return false;
    if (content == Content::Elements) {
        return count == call.buffer.count && dtype == call.buffer.dtype;
    }
    return dtype == TUTTI_UINT8 && count >= 0 && static_cast<uint64_t>(count) <= call.most_bytes;
}

Status Receiving::misfit(Content content, int64_t count, tutti_dtype dtype) const {
    std::string wanted = call.content == Content::Objects ? "objects" : "bytes";
    if (call.content == Content::Elements) {
        wanted = describe_message(call.content, call.buffer.count, call.buffer.dtype);
    } else if (call.content == content) {
        wanted += cat(", ", call.most_bytes, " bytes at most");
    }
    return {TUTTI_ERR_MISMATCH, source_, 0,
            cat("rank ", source_, " sent ", describe_message(content, count, dtype),
                " where this receive is ", wanted)};
}

Status Receiving::make_room(Content content, int64_t count, tutti_dtype dtype) noexcept {
    try {
        if (!fits(content, count, dtype)) return misfit(content, count, dtype);
        if (content == Content::Elements) {
            room_ = call.buffer.bytes();
        } else {
            call.incoming->bytes = OwnedBytes(static_cast<size_t>(count));
            call.incoming->source = source_;
            room_ = call.incoming->bytes.bytes();
        }
        return {};
    } catch (...) {
        return current_status();
    }
}

void Receiving::copy(const void* data) {
    if (!room_.empty()) std::memcpy(room_.data(), data, room_.size());
    finish({});
}

Receiving::Taken Receiving::receive_body(uint64_t number) {
    pending_ = 2;
    body_.emplace();
    body_->listener = shared_from_this();
    try {
        const Using use(*engine_);
        engine_->channel_.post_receive(*body_, source_, Slot::payload(number), room_.data(),
                                       room_.size());
    } catch (...) {
        const Status status = current_status();
        withdraw();
        finish(status);
        return Taken::Yes;
    }
    return --pending_ == 0 ? conclude() : Taken::Yes;
}

void Receiving::transfer_done(Transfer& /*transfer*/) noexcept {
    if (--pending_ > 0) return;
    const auto self = shared_from_this();
    if (conclude() == Taken::Back) engine_->join(self);
}

// The post has returned and the transfer is done: lets go of the channel.
Receiving::Taken Receiving::conclude() noexcept {
    const Status status = body_->status;
    const size_t bytes = body_->bytes;
    withdraw();
    if (!status.ok()) {
        finish(status);
    } else if (bytes == 0) {
        return Taken::Back;
    } else if (bytes != room_.size()) {
        finish({TUTTI_ERR_INTERNAL, source_, 0,
                cat("rank ", source_, " sent ", bytes, " bytes where it had announced ",
                    room_.size())});
    } else {
        finish({});
    }
    return Taken::Yes;
}

void Receiving::withdraw() noexcept {
    const Using use(*engine_, Using::Anyway{});
    body_->hold.reset();
    body_->listener.reset();
}

void Receiving::finish(const Status& status) noexcept {
    if (finished_.exchange(true)) return;
    engine_->alarm_->clear(alarm_);
    work_->finish(status, status.ok() ? source_ : -1);
}

Status Receiving::timed_out() const {
    const std::string who = call.source == any_source ? "any rank" : cat("rank ", call.source);
    return {TUTTI_ERR_TIMEOUT, call.source, 0, cat("timed out waiting for a message of ", who)};
}

void Receiving::time_out() noexcept {
    if (engine_->give_up(shared_from_this())) finish(timed_out());
}

}  // namespace tutti
