#include "receiving.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"
#include "listening.hpp"
#include "reduce/reduce.hpp"
#include "sending.hpp"
#include "using.hpp"

namespace tutti {

void Receiving::set_alarm(const Deadline& deadline) {
    alarm_ = engine_->alarm_->set(deadline, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->time_out();
    });
    if (finished_) engine_->alarm_->clear(alarm_);  // before it was set
}

bool Receiving::accepts(int from) const {
    if (call.source == any_source) return from != engine_->channel_.rank();
    return call.source == from;
}

Receiving::Taken Receiving::take(const Arrival& arrival) {
    const Lock lock(posting_);
    if (finished_) return Taken::ReceiverGone;
    source_ = arrival.source;
    if (arrival.local) return take_local(*arrival.local);
    return take_remote(*arrival.remote);
}

Receiving::Taken Receiving::take_local(Sending& message) {
    if (!message.claim()) return Taken::MessageGone;  // its send timed out
    Status status;
    if (fits(message.call.buffer.count, message.call.buffer.dtype)) {
        copy(message.call.buffer.data);
    } else {
        status = misfit(message.call.buffer.count, message.call.buffer.dtype);
        finish(status);
    }
    message.finish_claimed(status);
    return Taken::Yes;
}

Receiving::Taken Receiving::take_remote(const Listening& message) {
    const auto& header = message.announcement.header;
    const size_t eager = message.transfer.bytes - sizeof header;
    if (!fits(header.count, header.dtype)) {
        finish(misfit(header.count, header.dtype));
        if (eager == 0 && header.count > 0) engine_->drain(source_, header.number);
    } else if (eager != Announcement::eager(call.buffer.size())) {
        finish({TUTTI_ERR_INTERNAL, source_, 0,
                cat("rank ", source_.load(), " announced its message differently")});
    } else if (eager == call.buffer.size()) {
        copy(message.announcement.data.data());
    } else if (given_up_) {
        finish(timed_out("the data of "));
        return Taken::ReceiverGone;
    } else {
        receive_body(header.number);
    }
    return Taken::Yes;
}

bool Receiving::fits(int64_t count, tutti_dtype dtype) const {
    return count == call.buffer.count && dtype == call.buffer.dtype;
}

Status Receiving::misfit(int64_t count, tutti_dtype dtype) const {
    return {
        TUTTI_ERR_MISMATCH, source_, 0,
        cat("rank ", source_.load(), " sent ", dtype_name(dtype), " × ", count,
            " where this receive is ", dtype_name(call.buffer.dtype), " × ", call.buffer.count)};
}

void Receiving::copy(const void* data) {
    if (call.buffer.size() > 0) std::memcpy(call.buffer.data, data, call.buffer.size());
    finish({});
}

void Receiving::receive_body(uint64_t number) {
    pending_ = 2;
    body_.listener = shared_from_this();
    try {
        const Using use(*engine_);
        engine_->channel_.post_receive(body_, source_, Slot::payload(number), call.buffer.data,
                                       call.buffer.size());
    } catch (...) {
        const Status status = current_status();
        withdraw();
        return finish(status);
    }
    if (--pending_ == 0) conclude();
}

void Receiving::transfer_done(Transfer& /*transfer*/) noexcept {
    if (--pending_ > 0) return;
    const Lock lock(posting_);
    conclude();
}

// The post has returned and the transfer is done, or withdrawn: lets go of the channel.
void Receiving::conclude() noexcept {
    Status status = body_.status;
    if (status.ok() && body_.bytes != call.buffer.size()) {
        status = {TUTTI_ERR_PEER_LOST, source_, 0,
                  cat("rank ", source_.load(), " took its message back: its send timed out")};
    }
    withdraw();
    finish(status);
}

void Receiving::withdraw() noexcept {
    const Using use(*engine_, Using::Anyway{});
    body_.hold.reset();
    body_.listener.reset();
}

void Receiving::finish(const Status& status) noexcept {
    if (finished_.exchange(true)) return;
    engine_->alarm_->clear(alarm_);
    work_->finish(status, status.ok() ? source_.load() : -1);
}

Status Receiving::timed_out(const char* for_what) const {
    const std::string who = call.source == any_source ? "any rank" : cat("rank ", call.source);
    return {TUTTI_ERR_TIMEOUT, call.source, 0, cat("timed out waiting for ", for_what, who)};
}

void Receiving::time_out() noexcept {
    if (engine_->leave_lane(shared_from_this())) return finish(timed_out("a message of "));
    const Lock lock(posting_);
    if (finished_) return;
    if (pending_ == 0) {
        given_up_ = true;  // a message is on its way to take()
        return;
    }
    withdraw();
    finish(timed_out("the data of "));
}

}  // namespace tutti
