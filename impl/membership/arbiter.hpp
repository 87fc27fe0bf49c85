// Decides once for all ranks: why a group cannot go on, which ranks have left it, what ranks in
// different calls prove, how the shared steps end, and what the living agree on. Knows frames and
// ranks, no connections and no time; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "consensus.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Arbiter {
public:
    // `send` delivers a frame to a rank, in order; it may drop it, and does not call back.
    using Send = std::function<void(int rank, const std::string& frame)>;
    Arbiter(int size, Send send);

    // The decisions of a previous arbiter; `first_group_id` is above all ids that it gave.
    void restore(const std::set<int>& left, const std::map<int, Status>& losses,
                 const Failure& verdict, uint32_t first_group_id);
    // Ranks that neither have entered nor are known to be gone.
    [[nodiscard]] std::vector<int> awaited() const;

    // Rank `rank` can receive from now on, and first receives what it missed.
    void enter(int rank);
    // A frame from a rank; kinds that are not about groups and steps are ignored. Throws NETWORK if
    // it is malformed.
    void handle(int rank, const Frame& frame);
    // The rank of `loss` died or is unreachable: the first group cannot go on, nor can the others
    // it is in.
    void declare_lost(const Status& loss);
    // Why the first group cannot go on; the first cause counts.
    void decide(const Status& verdict);
    // Sends the departures since the last time, many in one frame.
    void announce_departures();

    [[nodiscard]] bool is_decided() const { return !first_.verdict.ok(); }
    [[nodiscard]] const Failure& verdict() const { return first_.verdict; }  // OK: none
    [[nodiscard]] bool has_left(int rank) const { return first_.left.contains(rank); }
    [[nodiscard]] const std::map<int, Status>& losses() const { return losses_; }
    [[nodiscard]] bool is_lost(int rank) const { return losses_.contains(rank); }
    // Entered, and neither left nor lost.
    [[nodiscard]] bool is_member(int rank) const;
    [[nodiscard]] int members() const;

private:
    struct Group {
        std::vector<int> ranks;   // ascending order of their ranks in it; of the first: all
        Failure verdict;          // of those that were reported, the one of the earliest call
        std::set<int> failed;     // ranks that have reported a failure: they take no more steps
        bool ends_steps = false;  // the verdict, of ranks that have reported none, too
        std::set<int> left;
        std::vector<int> unannounced;  // of them
        std::set<int> opened;          // ranks that have it, and so hear of it; of the first: none
        Stalls stalls;
    };
    struct Step {
        std::vector<int> participants;
        std::map<int, std::string> payloads;  // by rank that has arrived
        std::set<int> informed;               // ranks that know the failure
        uint32_t new_groups = 0;
        std::optional<StepFailed> failure;
    };
    using StepName = std::pair<uint32_t, std::string>;
    using Steps = std::map<StepName, Step>;

    void open(int rank, uint32_t group_id, const std::vector<int>& ranks);
    void leave(int rank, uint32_t group_id);
    void stall(int rank, uint32_t group_id, const Stall& stall);
    // `reporter`: the rank that has failed; nobody: it concerns all.
    void decide(uint32_t group_id, Group& group, const Failure& verdict, int reporter = nobody);
    [[nodiscard]] static bool is_over(const Group& group, const Step& step);
    void arrive(int rank, const StepArrival& arrival);
    void complete(const StepName& name, Step& step);
    void restore_outcome(const StepCompleted& outcome);
    void restore_decision(int rank, const Decision& decision);
    void give_up(int rank, const GiveUp& give_up);
    void fail_step(const StepName& name, Step& step, Status cause, std::vector<int> missing = {});
    // Fails the steps that this concerns.
    template <typename Concerned, typename CauseOf>
    void fail_steps(Concerned&& concerned, CauseOf&& cause_of);
    void forget_told_steps();
    Group* find(uint32_t group_id);
    [[nodiscard]] const Group* find(uint32_t group_id) const;
    [[nodiscard]] Status why_without(uint32_t group_id, int rank);
    [[nodiscard]] Status why_gone(uint32_t group_id, int rank) const;
    [[nodiscard]] std::optional<uint32_t> new_group_ids(uint32_t count);
    [[nodiscard]] std::vector<int> missing(const Step& step) const;
    [[nodiscard]] bool hears_of(const Group& group, int rank) const;
    void send_to_group(const Group& group, const std::string& frame);

    const int size_;
    const Send send_;
    std::vector<bool> entered_;  // by rank
    Group first_;
    std::map<uint32_t, Group> groups_;  // the others
    std::map<int, Status> losses_;
    Steps steps_;
    std::map<StepName, std::string> restored_;  // outcomes from a previous arbiter
    uint32_t last_group_id_ = 0;                // highest given
    Consensus consensus_;
};

}  // namespace tutti::membership
