// What a group knows of its ranks: who is alive, who has left, why they cannot go on together; and
// small things that they tell each other before they have, or without having, any way to move data.
// A group owns one; the groups that are made from each other share one world (world.hpp). Ranks are
// those of the group. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "protocol.hpp"

namespace tutti {

class World;

// TIMEOUT of a step; its rank is the first that is missing.
struct StepTimedOut : Error {
    explicit StepTimedOut(std::vector<int> ranks);
    std::vector<int> missing;
};

// Hears what becomes of a group, once each, from a thread of the membership's or from whoever says
// it. Short; must not throw, nor unsubscribe.
class MembershipListener {
public:
    // Its ranks cannot go on, and why.
    virtual void failed(const Status& cause) noexcept = 0;
    // That rank has left of its own will.
    virtual void left(int /*rank*/) noexcept {}

protected:
    ~MembershipListener() = default;
};

class Membership {
public:
    // A step that ranks of the group take together.
    struct Step {
        std::string key;                                 // of no other step of the group
        std::optional<std::vector<int>> participants{};  // ascending; nothing: every rank
        uint32_t numbers = 0;                            // of new groups: so many are needed
        int judge = -1;                   // a rank: once it has come, its deadline counts alone
        std::function<void()> stalled{};  // nothing has happened for a while; may throw
    };
    struct Outcome {
        std::vector<std::string> words;  // of the participants, in their order
        uint32_t first_number = 0;       // of the new groups
    };

    // The first group of a world, or `number` that a step has given to a group of those ranks of
    // the world.
    Membership(std::shared_ptr<World> world, uint32_t number, std::vector<int> world_ranks);
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return static_cast<int>(world_ranks_.size()); }
    [[nodiscard]] World& world() const { return *world_; }
    [[nodiscard]] const std::shared_ptr<World>& shared_world() const { return world_; }
    [[nodiscard]] uint32_t number() const { return number_; }
    [[nodiscard]] int world_rank(int rank) const { return world_ranks_[static_cast<size_t>(rank)]; }
    // -1: not in this group.
    [[nodiscard]] int rank_of(int world_rank) const {
        return ranks_[static_cast<size_t>(world_rank)];
    }
    // The same on all ranks, and no other group's.
    [[nodiscard]] std::string identity() const;
    // Whether that rank is on this host.
    [[nodiscard]] bool same_host(int rank) const;

    // One at a time. It hears at once what has happened already. When the second returns, it hears
    // nothing more.
    void subscribe(MembershipListener& listener);
    void unsubscribe() noexcept;

    // Why this rank cannot count on `peer`, itself included: the group has failed, or that one has
    // left.
    [[nodiscard]] Status trouble(int peer) const {
        return has_trouble_.load(std::memory_order_acquire) ? find_trouble(peer) : Status{};
    }

    // Until the group has failed: why; or the deadline has passed.
    Status await_failure(const Deadline& deadline);

    // A call of this rank's failed: no rank can go on. The first cause counts, for all.
    void report(const Status& cause) noexcept;
    // This rank has waited for a while in this call: ranks that wait in different ones, for each
    // other, fail with MISMATCH.
    void stalled(uint64_t number, const std::string& call) noexcept;
    // The data connection to that rank broke: a death, a departure or, if neither is heard of, that
    // is the failure.
    void suspect(int peer, const std::string& reason) noexcept;
    // This rank leaves the group; the world with the first one. It hears of nothing more.
    void leave() noexcept;

    // Until all participants have come: what each of them says. Throws for all who come, or none:
    // StepTimedOut when the time of one is up; PEER_LOST; what a rank refused with; why the group
    // fails meanwhile.
    Outcome take(const Step& step, const std::string& words, const Deadline& deadline);
    // The same by a rank that takes no part: the others' take() throws `why`. Does not wait.
    void refuse(const Step& step, const Status& why) noexcept;
    // take() of every rank, of what is said by all; `key` as there.
    std::vector<std::string> tell_all(const std::string& key, const std::string& words,
                                      const Deadline& deadline) {
        return take({.key = key}, words, deadline).words;
    }

private:
    friend class World;
    struct Wait {  // for the end of a step
        bool ended = false;
        Outcome outcome;
        Status failure;
        std::vector<int> missing;
    };

    // By the world.
    void hear_verdict(const Status& cause);
    void hear_loss(const Status& loss);
    void hear_departures(const std::vector<int>& world_ranks);
    void hear_end(const std::string& key, Wait end);

    [[nodiscard]] Status find_trouble(int peer) const;
    [[nodiscard]] const Status& cause() const TUTTI_REQUIRES(mutex_) {
        return failure_.ok() ? reported_ : failure_;
    }
    void fail_with(const Status& cause);
    [[nodiscard]] std::vector<int> participants(const Step& step) const;
    void await(const Step& step, const Wait& wait, const Deadline& deadline);
    [[noreturn]] void throw_failure(const Wait& wait) const;
    [[nodiscard]] Status in_ranks_of_group(const Status& loss) const;

    const std::shared_ptr<World> world_;
    const uint32_t number_;
    const std::vector<int> world_ranks_;  // by rank
    const std::vector<int> ranks_;        // by rank in the world
    const int rank_;
    std::atomic<bool> has_trouble_{false};
    std::atomic<bool> has_left_{false};

    Mutex telling_;  // held while the listener hears something; before mutex_
    MembershipListener* listener_ TUTTI_GUARDED_BY(telling_) = nullptr;
    mutable Mutex mutex_;
    Condition changed_;
    Status failure_ TUTTI_GUARDED_BY(mutex_);                      // of all
    Status reported_ TUTTI_GUARDED_BY(mutex_);                     // by this rank
    std::vector<bool> gone_ TUTTI_GUARDED_BY(mutex_);              // by rank
    std::map<std::string, Wait*> waits_ TUTTI_GUARDED_BY(mutex_);  // by the key of the step
};

}  // namespace tutti
