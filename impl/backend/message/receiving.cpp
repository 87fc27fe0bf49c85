// One thread at a time has a receive in its hands: who takes it out of its lane, then who completes
// its transfer.
#include "receiving.hpp"

#include <cstring>

#include "base/error.hpp"
#include "fitting.hpp"
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

Status Receiving::make_room(Content content, int64_t count, tutti_dtype dtype) noexcept {
    try {
        if (Status status = check_fit(call, content, count, dtype, source_); !status.ok()) {
            return status;
        }
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

void Receiving::time_out() noexcept {
    if (engine_->give_up(shared_from_this())) finish(timed_out(call));
}

}  // namespace tutti
