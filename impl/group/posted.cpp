#include "posted.hpp"

#include <utility>

#include "base/error.hpp"
#include "notes.hpp"
#include "turn.hpp"

namespace tutti {

namespace {

Status timed_out(int64_t timeout_ms) {
    return {TUTTI_ERR_TIMEOUT, -1, 0, cat("timed out after ", timeout_ms, " ms")};
}

}  // namespace

Posted::Posted(GroupCore& group, const Route& route, FlatCall&& call, const CallSpan& span,
               std::string_view tag, std::function<void()> deliver)
    : Work(call_name(call), span.start),
      group_(group),
      route_(route),
      fingerprint_(call.fingerprint),
      call_(std::move(call)),
      deadline_(span.deadline),
      recorded_(record_of(*call_, group, {timeout_of(span.deadline), tag, true})),
      entry_(std::in_place, group.life, operation()),
      deliver_(std::move(deliver)),
      poller_(route.poller),
      queue_(group.ticket_queue) {
    belongs_to(group.identity.as.own);
    if (route.device == TUTTI_CPU) set_on_cpu();
}

// It was never posted, if it is in the background still.
Posted::~Posted() {
    leave_background();
}

void Posted::run(uint64_t ticket) noexcept {
    set_sequence_number(ticket);
    const InOperation inside(group_.identity.as);
    Status status;
    try {
        recorded_.start(ticket, true);
        begin_turn(group_, fingerprint_, ticket, deadline_);
        if (route_.inlined == nullptr || route_.staged != nullptr) {
            return route_.backend->post({std::move(*call_), ticket, deadline_}, shared_from_this());
        }
        route_.inlined->run(*call_, ticket, deadline_);
    } catch (...) {
        status = current_status();
    }
    finish(std::move(status));
}

void Posted::put_in_background() {
    if (poller_) {
        poller_->begin_background();
        polled_for_ = true;
    }
    const auto rings = [weak = weak_from_this()] {
        if (const auto late = weak.lock()) late->expire();
    };
    deadlines_ = route_.deadlines;
    alarm_ = deadlines_->set(deadline_, rings);
}

void Posted::leave_background() noexcept {
    if (std::exchange(polled_for_, false)) poller_->end_background();
    if (alarm_ != 0) deadlines_->clear(std::exchange(alarm_, 0));
}

void Posted::expire() noexcept {
    std::optional<InFlight> inside;  // or the group might end meanwhile
    try {
        const Lock lock(mutex_);
        if (!entry_) return;
        inside.emplace(group_.life, operation(), InFlight::Of::Any);
    } catch (const Error&) {  // it is being destroyed, which ends this
        return;
    }
    const int64_t timeout_ms = deadline_.timeout_ms();
    late_after_ms_ = timeout_ms;
    group_.fail(timed_out(timeout_ms), {fingerprint_, sequence_number(), recorded_.tag()}, false);
}

void Posted::help(const IsOver& /*is_over*/, const Deadline& deadline) const {
    queue_->run_up_to(sequence_number(), deadline);
}

void Posted::hurry() const noexcept {
    queue_->hurry(sequence_number());
}

void Posted::deliver(Status& status) noexcept {
    if (!deliver_) return;
    try {
        deliver_();
    } catch (...) {
        status = current_status();
    }
}

Afterwards Posted::settle(Status& status) noexcept {
    leave_background();
    const int64_t late_after_ms = late_after_ms_;
    if (!status.ok()) {
        if (late_after_ms >= 0) status = timed_out(late_after_ms);
        status = group_.fail(status, {fingerprint_, sequence_number(), recorded_.tag()});
    } else {
        group_.membership->ended(sequence_number());
        deliver(status);
    }
    recorded_.ended(status);
    deliver_ = nullptr;
    call_.reset();  // a program that has waited finds its ops and its memory given back
    const Lock lock(mutex_);
    return InFlight::leave_afterwards(entry_);
}

}  // namespace tutti
