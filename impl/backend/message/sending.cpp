#include "sending.hpp"

#include <cstring>

#include "base/error.hpp"
#include "using.hpp"

namespace tutti {

void Sending::set_alarm(const Deadline& deadline) {
    alarm_ = engine_->alarm_->set(deadline, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->time_out();
    });
    if (finished_) engine_->alarm_->clear(alarm_);  // before it was set
}

void Sending::post(uint64_t number) {
    announcement_.header = {call.buffer.count, number, call.buffer.dtype, 0, 0};
    const size_t bytes = call.buffer.size();
    const size_t eager = Announcement::eager(bytes);
    if (eager > 0) std::memcpy(announcement_.data.data(), call.buffer.data, eager);
    const Lock lock(posting_);
    try {
        const Using use(*engine_);
        pending_ = eager == bytes ? 2 : 3;
        head_.listener = shared_from_this();
        engine_->channel_.post_send(head_, call.destination, Slot::announcement(call.tag),
                                    &announcement_, sizeof(announcement_.header) + eager);
        if (eager != bytes) {
            body_.listener = shared_from_this();
            engine_->channel_.post_send(body_, call.destination, Slot::payload(number),
                                        call.buffer.data, bytes);
        }
    } catch (...) {
        const Status status = current_status();
        withdraw();
        return finish(status);
    }
    if (--pending_ == 0) conclude();
}

void Sending::transfer_done(Transfer& /*transfer*/) noexcept {
    if (--pending_ > 0) return;
    const Lock lock(posting_);
    conclude();
}

// All posts have returned and all transfers are done, or withdrawn: lets go of the channel.
void Sending::conclude() noexcept {
    const Status status = head_.status.ok() ? body_.status : head_.status;
    withdraw();
    finish(status);
}

void Sending::finish_claimed(const Status& status) noexcept {
    engine_->alarm_->clear(alarm_);
    work_->finish(status);
}

void Sending::finish(const Status& status) noexcept {
    if (claim()) finish_claimed(status);
}

void Sending::time_out() noexcept {
    const Lock lock(posting_);
    if (finished_) return;
    withdraw();
    finish({TUTTI_ERR_TIMEOUT, call.destination, 0,
            cat("timed out: rank ", call.destination, " did not receive it")});
}

void Sending::withdraw() noexcept {
    const Using use(*engine_, Using::Anyway{});
    head_.hold.reset();
    body_.hold.reset();
    head_.listener.reset();
    body_.listener.reset();
}

}  // namespace tutti
