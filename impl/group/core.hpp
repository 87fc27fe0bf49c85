// The core of a group, which all its calls share: who it is, its ranks and backends, the order of
// its collectives, and the way a failure ends them. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "backends/backend_map.hpp"
#include "base/deadline.hpp"
#include "call/fingerprint.hpp"
#include "failure_work.hpp"
#include "identity.hpp"
#include "life.hpp"
#include "membership/membership.hpp"
#include "memory/held_memory.hpp"
#include "record/recorder.hpp"
#include "store/store.hpp"
#include "ticket_queue.hpp"
#include "work/work.hpp"

namespace tutti {

// The parts that a group is made of, however its ranks met.
struct GroupParts {
    GroupIdentity identity;
    int64_t timeout_ms = 0;
    BackendMap backend_map;
    std::shared_ptr<Store> store;
    std::unique_ptr<Membership> membership;
    Backends backends;
    // Here, before the ranks meet: it reads a setting, which may be malformed.
    std::shared_ptr<TicketQueue> ticket_queue = std::make_shared<TicketQueue>();

    // All ranks call it.
    void open_backends(const BackendPlace& place, MadeBackends made = {});
};

// The time of a call in the background, by one look at the clock.
struct CallSpan {
    Work::Clock::time_point start;
    Deadline deadline;
};

// A collective as messages name it.
struct NumberedCall {
    const Fingerprint& call;
    uint64_t sequence;
    std::string_view tag = {};  // what the program calls it
    // "all_reduce #7 (float32 × 100, SUM)", or "... \"loss\"".
    [[nodiscard]] std::string text() const;
};

// The memory of an operation is held until its work is done.
inline void keep_until_done(Work& work, MemoryUse use) {
    if (!use.empty()) work.keep(std::make_shared<const MemoryUse>(std::move(use)));
}

class GroupCore {
public:
    // `as`: the group, as its operations name it.
    GroupCore(GroupParts parts, const Operator& as);

    // The group's own timeout for 0.
    [[nodiscard]] int64_t effective_timeout(int64_t given_ms) const {
        return given_ms == 0 ? timeout_ms.load() : given_ms;
    }
    [[nodiscard]] Deadline deadline(int64_t given_ms) const {
        return Deadline::after_ms(effective_timeout(given_ms));
    }
    [[nodiscard]] CallSpan span_of(int64_t given_ms) const {
        const auto now = Work::Clock::now();
        return {now, Deadline::after_ms(effective_timeout(given_ms), now)};
    }
    // For a call that ends on the caller's thread before it returns.
    [[nodiscard]] Deadline deadline_here(int64_t given_ms) const {
        return Deadline::after_ms_of_waiting(effective_timeout(given_ms));
    }

    // The backends hear of the membership's events from now on.
    void begin() { membership->subscribe(listener_); }

    // The group cannot go on after a failed collective. Returns the error for the caller. Other
    // running calls end for the same reason, or, if this call had not begun, because of it.
    Status fail(Status status, const NumberedCall& call, bool had_begun = true) noexcept;
    // Nor for a reason that its user has found; collectives before the present one may end well.
    // Nothing if the group has failed before or is destroyed meanwhile.
    void abandon(const Status& cause) noexcept;
    // The same, and all collectives end. Within a call of the group.
    void revoke(const Status& cause) noexcept;
    // The call and the group go in front of the message, and if a lost rank is to blame, the others
    // that are lost go behind it.
    [[nodiscard]] Status worded(const std::string& call, Status status) const;
    // "; ranks 3, 5 are lost, too", or nothing.
    [[nodiscard]] std::string others_lost(const Status& status) const;
    // Ends when the group fails, or is destroyed.
    std::shared_ptr<Work> failure_work();
    // See Group.
    [[nodiscard]] Status failure();
    [[nodiscard]] Status end_of_calls();
    [[nodiscard]] std::vector<int> failed_ranks();

    // The rest of the end that life.begin_destroy() has begun. `says_goodbye`: the others leave as
    // well, unless the group has failed, and would wait for this rank.
    void end(bool says_goodbye) noexcept;

    const GroupIdentity identity;
    GroupLife life{identity};
    std::atomic<int64_t> timeout_ms;  // -1: never
    const BackendMap backend_map;
    const std::shared_ptr<Store> store;      // where the ranks of the first group met, or, with
                                             // foreign peers, those of this one; null: nowhere
    std::unique_ptr<Membership> membership;  // null: the group has ended
    Backends backends;
    const std::shared_ptr<TicketQueue> ticket_queue;
    record::GroupRecord record;

private:
    // Passes events of the membership on.
    class Listener final : public MembershipListener {
    public:
        explicit Listener(GroupCore& group) : group_(group) {}
        void failed(const Status& cause) noexcept override {
            group_.backends.abort(cause);
            group_.end_failure_work(cause);
        }
        void failing(const Status& cause) noexcept override {
            group_.backends.abort_messages(cause);
            group_.end_failure_work(cause);
        }
        void left(int rank) noexcept override { group_.backends.left(rank); }

    private:
        GroupCore& group_;
    };

    template <typename Ask>
    Status failure_by(Ask&& ask);
    [[nodiscard]] Status cause_for_others(const Status& status, const std::string& operation) const;
    void end_calls(const Status& cause) noexcept;
    void end_failure_work(const Status& cause) noexcept;
    [[nodiscard]] std::vector<int> lost_ranks() const;

    FailureWork failure_work_;
    Listener listener_{*this};
};

}  // namespace tutti
