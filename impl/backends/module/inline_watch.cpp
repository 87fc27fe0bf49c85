#include "inline_watch.hpp"

#include <atomic>

#include "membership/stalls.hpp"
#include "progress/gate.hpp"

namespace tutti::ext {

struct InlineWatch::Watched : std::enable_shared_from_this<Watched> {
    Watched(Opened& opened, const PostedCall& watched) : at(opened), call(watched) {}

    void set(const Deadline& deadline) {
        alarm = at.deadlines()->set(deadline, [self = shared_from_this()] { self->ring(); });
    }
    void ring() noexcept {
        const GateUse use(in_use);
        if (!use.is_open()) return;
        if (call.deadline().expired()) return at.end_late(call);
        if (!has_reported) at.report_stall(call);
        has_reported = true;
        try {
            set(call.deadline());
        } catch (...) {
            at.end_late(call);
        }
    }

    Opened& at;
    const PostedCall& call;
    Gate in_use;
    std::atomic<Alarm::Id> alarm{0};
    bool has_reported = false;  // the alarm's thread's
};

InlineWatch::InlineWatch(Opened& at, const PostedCall& call)
    : watched_(std::make_shared<Watched>(at, call)) {
    watched_->set(call.deadline().or_earlier(Deadline::after_ms(membership::stall_ms)));
}

InlineWatch::~InlineWatch() {
    watched_->in_use.wait_until_unused();
    watched_->at.deadlines()->clear(watched_->alarm);
}

}  // namespace tutti::ext
