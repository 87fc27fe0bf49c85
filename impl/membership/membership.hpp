// A group's knowledge of its ranks: which are alive, which have left, why the group cannot go on.
// Also small steps that ranks take together before they can move data, or without moving any. A
// group owns one; groups made from each other share one world (world.hpp). Ranks are those of the
// group. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "decisions.hpp"
#include "protocol.hpp"

namespace tutti {

class World;

// TIMEOUT of a step; its rank is the first missing one.
struct StepTimedOut : Error {
    explicit StepTimedOut(std::vector<int> ranks);
    std::vector<int> missing;
};

// Events of a group, each at most once, from a thread of the membership or of whichever caller
// caused it. Short; must not throw, nor unsubscribe.
class MembershipListener {
public:
    // The group cannot go on, and why.
    virtual void failed(const Status& cause) noexcept = 0;
    // The same, before failed(), for all but collectives that come before the one that failed:
    // these may still end well.
    virtual void failing(const Status& /*cause*/) noexcept {}
    // Rank `rank` has left of its own will.
    virtual void left(int /*rank*/) noexcept {}

protected:
    ~MembershipListener() = default;
};

class Membership {
public:
    // A step that ranks of the group take together.
    struct Step {
        std::string key;                                 // unique within the group
        std::optional<std::vector<int>> participants{};  // ascending; nothing: all ranks
        uint32_t new_groups = 0;                         // how many group ids the step needs
        // Once that rank has arrived, only its deadline counts. Others wait for that as long again
        // as their own, and then for the answer; they end without it if their time was shorter.
        int deadline_rank = -1;
        std::function<void()> stalled{};  // after a second without progress; may throw
    };
    struct Outcome {
        std::vector<std::string> payloads;  // of the participants, in their order
        uint32_t first_group_id = 0;        // of the new groups
    };

    // The first group of a world (0), or one of those ranks with an id from a step.
    Membership(std::shared_ptr<World> world, uint32_t group_id, std::vector<int> world_ranks);
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return static_cast<int>(world_ranks_.size()); }
    [[nodiscard]] World& world() const { return *world_; }
    [[nodiscard]] const std::shared_ptr<World>& shared_world() const { return world_; }
    [[nodiscard]] uint32_t group_id() const { return group_id_; }
    [[nodiscard]] int world_rank(int rank) const { return world_ranks_[static_cast<size_t>(rank)]; }
    // -1: not in this group.
    [[nodiscard]] int rank_of(int world_rank) const {
        return ranks_[static_cast<size_t>(world_rank)];
    }
    // The same on all ranks, and unique.
    [[nodiscard]] std::string identity() const;
    // Whether that rank is on this host.
    [[nodiscard]] bool same_host(int rank) const;

    // One at a time. It first gets the events that have already happened. After unsubscribe() it
    // gets none.
    void subscribe(MembershipListener& listener);
    void unsubscribe() noexcept;

    // Why this rank cannot count on `peer`, or on itself: the group has failed, or the peer has
    // left.
    [[nodiscard]] Status trouble(int peer) const {
        return has_trouble_.load(std::memory_order_acquire) ? find_trouble(peer) : Status{};
    }

    // The same for a collective with that sequence number, which a later one's failure leaves
    // alone.
    [[nodiscard]] Status trouble_in(uint64_t sequence, int peer) const {
        return has_trouble_.load(std::memory_order_acquire) ? find_trouble_in(sequence, peer)
                                                            : Status{};
    }
    // A collective has ended well here. Holds no lock of the caller's while others are told that
    // the group has failed, which waits for the collectives before the failed one.
    void ended(uint64_t sequence) noexcept;
    // The first that has not; later ones may have.
    [[nodiscard]] uint64_t first_open_call() const { return in_order_.load() + 1; }
    // Why the group's collectives have been ended; OK: they have not.
    [[nodiscard]] Status end_of_calls() const;

    // Until the group has failed, and why; or until the deadline.
    Status await_failure(const Deadline& deadline);

    // A call of this rank failed, so no rank can go on after those that have ended well here. The
    // first cause counts, for all; of two causes, for a call the one that ends the earlier calls.
    void report(const Status& cause) noexcept;
    // The same, and none of the calls can be counted on: ranks have called different things, say.
    void revoke(const Status& cause) noexcept;
    // The program has seen a message of this rank fail. If a failure that leaves earlier
    // collectives alone has ended it, those that wait in them for this rank are told.
    void message_failed() noexcept;
    // Why a call ended so: who leaves after a failure leaves because of it.
    [[nodiscard]] Status reason_of(const Status& status) const;
    // This rank makes no progress in this call: what all must have called alike, in bytes, and as
    // text. Ranks that wait for each other in different calls fail with MISMATCH.
    void stalled(uint64_t sequence, const std::string& call, const std::string& text) noexcept;
    // Whether this rank begins every call with a step in which all compare theirs: all ranks do, or
    // none. Before the first call.
    void set_compares_first(bool compares_first) { compares_first_ = compares_first; }
    // The data connection to that rank broke. Unless a death or a departure explains it, that is
    // the failure.
    void suspect(int peer, const std::string& reason) noexcept;
    // This rank leaves the group, with the first one the world, and gets no more events.
    void leave() noexcept;

    // Until all participants have arrived: the payload of each. Throws on all that arrive, or on
    // none: StepTimedOut when one deadline has passed; PEER_LOST; the reason of a rank that
    // refused; why the group failed.
    Outcome take_step(const Step& step, const std::string& payload, const Deadline& deadline);
    // From a rank that takes no part: take_step() of the others throws `why`. Does not wait.
    void refuse(const Step& step, const Status& why) noexcept;
    // Until all living ranks of the group have called it: what they say, and new groups' ids, the
    // same for all of them whoever dies meanwhile. It works in a group that has failed, too. Ranks
    // in `excluded`, the same for all that call, are not waited for. Throws on all that call, or on
    // none, but for this rank's own part: StepTimedOut, MISMATCH of the exclusions; ABORTED on a
    // rank without which the others go on.
    struct Agreed {
        std::vector<int> members;           // ascending
        std::vector<std::string> payloads;  // of them
        uint32_t first_group_id = 0;        // of the new groups
    };
    Agreed decide(const membership::Decisions::Terms& terms, const Deadline& deadline);
    // This rank says this in the next decision, and calls decide() for the one after it. Does not
    // wait.
    void decline_decision(const std::string& payload) { decisions_.pass({.payload = payload}); }
    // Nor does it take part in any more: decide() throws that.
    void end_decisions(const Status& why) { decisions_.end(why); }
    // This rank is a member of the new group, but cannot make it: the others hear why, and in the
    // first decision of that group what it says. Does not wait.
    void decline(const Agreed& agreed, const Status& why, const std::string& payload);
    // take_step() of all ranks: the payloads of all.
    std::vector<std::string> all_gather(const std::string& key, const std::string& payload,
                                        const Deadline& deadline) {
        return take_step({.key = key}, payload, deadline).payloads;
    }

private:
    friend class World;
    struct Wait {  // for the end of a step
        bool ended = false;
        Outcome outcome;
        Status failure;
        std::vector<int> missing;
    };

    // Called by the world.
    void on_verdict(const membership::Failure& verdict);
    void on_loss(const Status& loss);
    // Ranks have left the first group, or this one: which the world hears when the arbiter knows
    // that this rank has it, and then at once, be it of nobody.
    void on_departures_from_world(const std::vector<int>& world_ranks);
    void on_departures(std::vector<int> world_ranks);
    void on_step_end(const std::string& key, Wait end);
    void on_decision(const membership::Decision& decision);
    // This rank has left the world; the groups that it had are left before.
    void on_end_of_world();

    [[nodiscard]] Status find_trouble(int peer) const;
    [[nodiscard]] Status find_trouble_in(uint64_t sequence, int peer) const;
    [[nodiscard]] Status left(int peer) const TUTTI_REQUIRES(mutex_);
    [[nodiscard]] const Status& cause() const TUTTI_REQUIRES(mutex_) {
        return failure_.ok() ? reported_ : failure_.cause;
    }
    [[nodiscard]] Status end_of_steps() const TUTTI_REQUIRES(mutex_);
    void send_report(const membership::Failure& failure) noexcept;
    void fail_with(const membership::Failure& failure);
    void ended_early(uint64_t sequence) noexcept;
    class Delivery;
    void tell_if_due() noexcept;
    void end_delivery() noexcept;
    // Whether all collectives that the failure leaves alone have ended.
    [[nodiscard]] bool is_due() const TUTTI_REQUIRES(mutex_) {
        return first_open_call() >= failure_.first_call;
    }
    [[nodiscard]] std::vector<int> participants(const Step& step) const;
    void await(const Step& step, const Wait& wait, const Deadline& deadline);
    [[noreturn]] void throw_failure(const Step& step, const Wait& wait) const;
    [[nodiscard]] Status in_ranks_of_group(const Status& loss) const;
    [[nodiscard]] std::string text_of_exclusions(const membership::Decision& decision) const;

    const std::shared_ptr<World> world_;
    const uint32_t group_id_;
    const std::vector<int> world_ranks_;  // by rank
    const std::vector<int> ranks_;        // by rank in the world
    const int rank_;
    membership::Decisions decisions_;
    bool compares_first_ = false;
    std::atomic<bool> has_trouble_{false};
    std::atomic<bool> has_left_{false};
    std::atomic<uint64_t> in_order_{0};   // all collectives up to this one have ended well
    std::atomic<bool> has_early_{false};  // early_ has some

    mutable Mutex mutex_;
    Condition changed_;
    bool is_delivering_ TUTTI_GUARDED_BY(mutex_) = false;  // a thread calls the listener
    MembershipListener* listener_ TUTTI_GUARDED_BY(mutex_) = nullptr;  // changes by a Delivery
    std::set<uint64_t> early_ TUTTI_GUARDED_BY(mutex_);                // ended well, not in order
    membership::Failure failure_ TUTTI_GUARDED_BY(mutex_);             // of all
    bool is_told_ TUTTI_GUARDED_BY(mutex_) = false;                    // the listener, of that
    Status reported_ TUTTI_GUARDED_BY(mutex_);                         // by this rank
    std::vector<bool> gone_ TUTTI_GUARDED_BY(mutex_);                  // by rank
    // Ranks of the world that left it before the arbiter had said why this group may have failed.
    std::vector<int> unexplained_ TUTTI_GUARDED_BY(mutex_);
    bool is_open_ TUTTI_GUARDED_BY(mutex_);  // the arbiter knows that this rank has the group
    std::map<std::string, Wait*> waits_ TUTTI_GUARDED_BY(mutex_);  // by the key of the step
};

}  // namespace tutti
