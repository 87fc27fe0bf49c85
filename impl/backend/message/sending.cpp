#include "sending.hpp"

#include <cstring>

#include "base/error.hpp"
#include "fitting.hpp"
#include "using.hpp"

namespace tutti {

bool Sending::is_local() const {
    return call.destination == engine_->channel_.rank();
}

bool Sending::has_body() const {
    return Announcement::eager(call.buffer.size()) != call.buffer.size();
}

void Sending::set_alarm(const Deadline& deadline) {
    alarm_ = engine_->alarm_->set(deadline, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->time_out();
    });
    if (finished_) engine_->alarm_->clear(alarm_);  // before it was set
}

void Sending::post(uint64_t number) {
    announcement_.header = {call.buffer.count, number, call.buffer.dtype, call.content, 0};
    const size_t eager = Announcement::eager(call.buffer.size());
    if (eager > 0) std::memcpy(announcement_.data.data(), call.buffer.data, eager);
    const Lock lock(posting_);
    try {
        const Using use(*engine_);
        pending_ = has_body() ? 3 : 2;
        head_.listener = shared_from_this();
        engine_->channel_.post_send(head_, call.destination, Slot::announcement(call.tag),
                                    &announcement_, sizeof(announcement_.header) + eager);
        if (has_body()) {
            body_.listener = shared_from_this();
            engine_->channel_.post_send(body_, call.destination, Slot::payload(number),
                                        call.buffer.data, call.buffer.size());
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

// What has begun to move goes on to its end.
void Sending::time_out() noexcept {
    if (is_local()) {
        engine_->forget(shared_from_this());
        return finish(timed_out(call));
    }
    const Lock lock(posting_);
    if (finished_) return;
    const bool head_stopped = stop(head_);
    const bool body_stopped = has_body() && stop(body_);
    if (has_body() ? !body_stopped : !head_stopped) {
        if (head_stopped) --pending_;
        return;
    }
    finish(timed_out(call));
    const int stopped = (head_stopped ? 1 : 0) + (body_stopped ? 1 : 0);
    if (pending_.fetch_sub(stopped) == stopped) withdraw();
}

bool Sending::stop(Transfer& transfer) noexcept {
    const Using use(*engine_, Using::Anyway{});
    if (!transfer.hold->stop()) return false;
    transfer.hold.reset();
    return true;
}

void Sending::withdraw() noexcept {
    const Using use(*engine_, Using::Anyway{});
    head_.hold.reset();
    body_.hold.reset();
    head_.listener.reset();
    body_.listener.reset();
}

}  // namespace tutti
