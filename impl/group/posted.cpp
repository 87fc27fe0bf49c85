#include "posted.hpp"

#include <utility>

#include "base/error.hpp"

namespace tutti {

namespace {

Status timed_out(int64_t timeout_ms) {
    return {TUTTI_ERR_TIMEOUT, -1, 0, cat("timed out after ", timeout_ms, " ms")};
}

}  // namespace

Group::Posted::Posted(Group& group, const Route& route, const FlatCall& call,
                      std::function<void()> deliver)
    : Work(nullptr, call_name(call)),
      group_(group),
      entry_(std::make_shared<InFlight>(group, call_name(call))),
      fingerprint_(call.fingerprint),
      deliver_(std::move(deliver)),
      poller_(route.poller) {
    belongs_to(&group);
}

// It was never posted, if it is in the background still.
Group::Posted::~Posted() {
    leave_background();
}

void Group::Posted::put_in_background(const std::shared_ptr<Posted>& work, const Route& route,
                                      const Deadline& deadline) {
    if (work->poller_) {
        work->poller_->begin_background();
        work->polled_for_ = true;
    }
    const auto rings = [weak = std::weak_ptr(work), deadline] {
        if (const auto late = weak.lock()) late->expire(deadline);
    };
    work->deadlines_ = route.deadlines;
    work->alarm_ = route.deadlines->set(deadline, rings);
}

void Group::Posted::leave_background() noexcept {
    if (std::exchange(polled_for_, false)) poller_->end_background();
    if (alarm_ != 0) deadlines_->clear(std::exchange(alarm_, 0));
}

void Group::Posted::expire(const Deadline& deadline) noexcept {
    std::shared_ptr<InFlight> inside;  // or the group might end meanwhile
    {
        const Lock lock(mutex_);
        inside = entry_;
    }
    if (!inside) return;
    const int64_t timeout_ms = deadline.timeout_ms();
    late_after_ms_ = timeout_ms;
    group_.fail(timed_out(timeout_ms), fingerprint_, sequence_number(), false);
}

void Group::Posted::deliver(Status& status) noexcept {
    if (!deliver_) return;
    try {
        deliver_();
    } catch (...) {
        status = current_status();
    }
}

std::shared_ptr<void> Group::Posted::settle(Status& status) noexcept {
    leave_background();
    const int64_t late_after_ms = late_after_ms_;
    if (!status.ok()) {
        if (late_after_ms >= 0) status = timed_out(late_after_ms);
        status = group_.fail(status, fingerprint_, sequence_number());
    } else {
        group_.membership_->ended(sequence_number());
        deliver(status);
    }
    deliver_ = nullptr;
    const Lock lock(mutex_);
    return std::move(entry_);
}

}  // namespace tutti
