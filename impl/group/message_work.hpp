// Messages of a group as works. With a backend that is polled, the waiting thread polls, else the
// poller's thread, and the end of the group waits until the backend is done with a message; other
// backends do so themselves. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends.hpp"
#include "base/mutex.hpp"
#include "core.hpp"
#include "work/work.hpp"

namespace tutti {

// Not in the call that starts it.
inline bool ends_later(const Route& route) {
    return route.inlined == nullptr || route.inlined->ends_messages_later();
}

// By which works enter their group, which they do not keep: it may end before them.
class MessageDoor {
public:
    explicit MessageDoor(GroupCore& group) : group_(&group) {}

    // Until `entry` goes the group stays. Null: it has ended, or is about to.
    GroupCore* enter(std::optional<InFlight>& entry, const char* operation);
    void close() noexcept;

private:
    Mutex mutex_;
    GroupCore* group_ TUTTI_GUARDED_BY(mutex_);
};

class MessageWork : public Work {
public:
    using Door = std::shared_ptr<MessageDoor>;
    // The message, for people.
    struct What {
        bool sends;
        int peer;
        int tag;
        std::string tag_name{};  // of the program
        // "send to rank 3 (tag 5)", or "... \"halo\"".
        [[nodiscard]] std::string text(const char* operation) const;
    };

    // One whose failure tells of itself has no `What`.
    MessageWork(GroupCore& group, Door door, const char* operation, Clock::time_point started)
        : Work(operation, started), group_(group), door_(std::move(door)) {
        belongs_to(group.identity.as.own);
    }
    MessageWork(GroupCore& group, Door door, const char* operation, Clock::time_point started,
                const Route& route, const What& what)
        : Work(operation, started),
          group_(group),
          door_(std::move(door)),
          poller_(route.poller),
          what_(what) {
        belongs_to(group.identity.as.own);
        if (ends_later(route)) entry_.emplace(group.life, operation);
    }

    void record(::tutti::record::Call call) { recorded_ = std::move(call); }
    // Before it is started: what moves it on threads that wait; null: nothing does.
    void set_helper(Helper* helper) { helper_ = helper; }
    // The caller does not wait for it at once.
    void put_in_background() {
        if (!poller_) return;
        poller_->begin_background();
        is_polled_for_ = true;
    }
    // It was never started, if it is polled for still.
    ~MessageWork() override { end_polling(); }

    void failure_is_known() const noexcept override;
    void hurry() const noexcept override {
        with_helper([](Helper& helper) { helper.hurry(); });
    }

protected:
    // Nothing if it has ended.
    template <typename Act>
    void with_group(Act&& act) const {
        std::optional<InFlight> entry;
        if (GroupCore* const group = door_->enter(entry, operation())) act(*group);
    }
    [[nodiscard]] std::shared_ptr<Source> polled() const override { return poller_; }
    [[nodiscard]] std::string describe() const override {
        if (!what_) return {};
        return cat(what_->text(operation()), " on ", group_.identity.label());
    }
    Afterwards settle(Status& status) noexcept override {
        if (what_ && !status.ok()) status.message += group_.others_lost(status);
        if (ending_source() >= 0) recorded_.came_from(ending_source());
        recorded_.ended(status);
        end_polling();
        return InFlight::leave_afterwards(entry_);
    }
    [[nodiscard]] const Helper* helper() const override { return helper_; }
    void help(const IsOver& is_over, const Deadline& deadline) const override {
        with_helper([&](Helper& helper) { helper.help(is_over, deadline); });
    }
    void look() const noexcept override {
        with_helper([](Helper& helper) { static_cast<void>(helper.advance()); });
    }

private:
    // The helper goes with the group, which all works end before.
    template <typename Act>
    void with_helper(Act&& act) const {
        if (helper_ == nullptr) return;
        with_group([&](const GroupCore& /*group*/) { act(*helper_); });
    }
    void end_polling() noexcept {
        if (std::exchange(is_polled_for_, false)) poller_->end_background();
    }

    GroupCore& group_;  // ends after it, but may do so before it is released
    const Door door_;
    const std::shared_ptr<Poller> poller_;  // null: it is not polled
    const std::optional<What> what_;
    std::optional<InFlight> entry_;
    ::tutti::record::Call recorded_;
    Helper* helper_ = nullptr;
    bool is_polled_for_ = false;
};

// A receive can be cancelled until its message comes.
class ReceiveWork final : public MessageWork {
public:
    using MessageWork::MessageWork;

    // The message is received by another work, and delivered then.
    void deliver_from(const std::shared_ptr<MessageWork>& moving) {
        moving_ = moving;
        is_delivered_ = true;
    }

    std::optional<bool> cancel() override;

    void hurry() const noexcept override {
        if (!is_delivered_) return MessageWork::hurry();
        if (const auto moving = moving_.lock()) moving->hurry();
    }

protected:
    // A waiting thread can move the message; the delivery follows elsewhere.
    void help(const IsOver& is_over, const Deadline& deadline) const override {
        if (!is_delivered_) return MessageWork::help(is_over, deadline);
        if (const auto moving = moving_.lock()) moving->wait(deadline);
    }
    void look() const noexcept override {
        if (!is_delivered_) return MessageWork::look();
        if (const auto moving = moving_.lock()) static_cast<void>(moving->poll());
    }

private:
    std::weak_ptr<MessageWork> moving_;
    bool is_delivered_ = false;
};

}  // namespace tutti
