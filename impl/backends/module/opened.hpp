// A backend from outside on one rank of one group: its calls, from their posts to their ends, and
// what ends them early. Kept alive by the calls that the backend has. Any thread.
#pragma once

#include <atomic>
#include <memory>

#include "abort_cause.hpp"
#include "backend/backend_place.hpp"
#include "backend/split.hpp"
#include "host.hpp"
#include "on_stream.hpp"
#include "on_their_way.hpp"
#include "progress/alarm.hpp"
#include "table_calls.hpp"

namespace tutti::ext {

class Opened final : public Instance, public std::enable_shared_from_this<Opened> {
public:
    // Opens nothing yet. `name` stays for good.
    Opened(const tutti_backend_table& table, const char* name, const BackendPlace& at);

    [[nodiscard]] const char* name() const { return name_; }
    [[nodiscard]] const Capabilities& capabilities() const { return can_; }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const TableCalls& table() const { return table_; }

    // All ranks call these. They throw what the backend says, or why it was aborted.
    void open(const BackendPlace& at);
    // Makes the instance of `made`, of a new group that this rank is in; null: it is in none.
    // False: not now.
    bool split(const BackendSplit& how, Opened* made);
    void share_memory(const Device& device, void* memory, SplitSteps& steps);

    // Throws for a call that never began.
    void post(std::shared_ptr<PostedCall> call);
    // The same for a message, which its deadline ends.
    void start(std::shared_ptr<PostedCall> message);
    // The same for a call of an inline backend, which is over then.
    void run(PostedCall& call);
    bool cancel(const Work& receive) noexcept;
    // The time of an inline call is up, or it has made no progress for a while.
    void end_late(const PostedCall& call) noexcept;
    void report_stall(const PostedCall& call) noexcept;
    [[nodiscard]] const std::shared_ptr<Alarm>& deadlines() const { return deadlines_; }

    // For a backend that completes on a stream.
    device::EventPointer begin(const Device& device, void* stream) {
        return on_stream_.begin(device, stream);
    }
    FlatCall::Place join(FlatCall& call, void* stream) { return on_stream_.join(call, stream); }
    // Asks the backend, and ends what the device has done.
    bool look() noexcept;
    [[nodiscard]] bool is_on_the_device() const noexcept {
        return on_stream_.size() == on_their_way_.size();
    }

    void left(int rank) noexcept;
    void abort(const Status& status) noexcept;
    // All works have ended; calls may still be on their way out of finish(). Of a backend that has
    // been given up nothing is known any more.
    void close() noexcept;

    // Instance: the host calls these.
    void ending(const PostedCall& call, Status& status) noexcept override;
    void* stream(const PostedCall& call) override { return on_stream_.stream(call); }
    void enqueued(const std::shared_ptr<PostedCall>& call) noexcept override;
    [[nodiscard]] bool all_ended() const override { return on_stream_.all_ended(); }

private:
    void end_late_message(PostedCall& message) noexcept;
    void report_late_message(const Status& status) noexcept;
    void give_up_calls() noexcept;
    void check();
    template <typename Act>
    void with_cause(Act&& act) const;

    TableCalls table_;
    const char* const name_;
    const Capabilities can_;
    Membership& membership_;
    const int rank_, size_;
    std::shared_ptr<Store> store_;
    const std::shared_ptr<Alarm> deadlines_ = Alarm::shared();
    std::atomic<bool> has_ended_group_{false};  // a message whose time was up
    OnStream on_stream_{can_.high_priority};
    OnTheirWay on_their_way_;  // of a backend that completes on a stream
    AbortCause abort_cause_;
    std::atomic<Alarm::Id> abort_alarm_{0};
    std::atomic<bool> is_given_up_{false};
};

}  // namespace tutti::ext
