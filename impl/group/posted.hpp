// A collective of a group that a backend has, as a Work: words a failure and then fails the group,
// ends at its deadline, and keeps the end of the group waiting until the backend is done with it.
// Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "backends.hpp"
#include "call/flat.hpp"
#include "core.hpp"
#include "progress/alarm.hpp"

namespace tutti {

class Posted final : public Work,
                     public TicketQueue::Job,
                     public std::enable_shared_from_this<Posted> {
public:
    // `deliver` runs when the data have arrived, before the work is done, and fails only this rank.
    Posted(GroupCore& group, const Route& route, FlatCall&& call, const CallSpan& span,
           std::string_view tag, std::function<void()> deliver = nullptr);
    virtual ~Posted();

    // Posts it, in its turn.
    void run(uint64_t ticket) noexcept override;

    // No thread need wait for it, so others poll for it and watch its deadline. Once, before it is
    // posted.
    void put_in_background();
    // Its deadline has passed: the group fails, and this work soon after.
    void expire() noexcept;

protected:
    Afterwards settle(Status& status) noexcept override;
    void help(const IsOver& is_over, const Deadline& deadline) const override;
    void hurry() const noexcept override;
    [[nodiscard]] std::shared_ptr<Source> polled() const override { return poller_; }

private:
    void leave_background() noexcept;
    void deliver(Status& status) noexcept;

    GroupCore& group_;
    const Route& route_;
    const Fingerprint fingerprint_;
    std::optional<FlatCall> call_;  // until it ends
    const Deadline deadline_;
    record::Call recorded_;
    Mutex mutex_;
    std::optional<InFlight> entry_ TUTTI_GUARDED_BY(mutex_);  // none: it has ended
    std::function<void()> deliver_;
    const std::shared_ptr<Poller> poller_;
    const std::shared_ptr<TicketQueue> queue_;  // where it waits for its turn
    bool polled_for_ = false;                   // counted by the poller
    std::shared_ptr<Alarm> deadlines_;
    Alarm::Id alarm_ = 0;
    std::atomic<int64_t> late_after_ms_{-1};  // once its deadline has passed: its timeout
};

}  // namespace tutti
