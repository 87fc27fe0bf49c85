// What is decided once for all ranks: why a group cannot go on, who has left it, what ranks in
// different calls prove, and how the steps end that several ranks take together. Knows frames and
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

#include "protocol.hpp"

namespace tutti::membership {

class Arbiter {
public:
    // `send` brings a frame to a rank, in order; it may drop it, and does not call back.
    using Send = std::function<void(int rank, const std::string& frame)>;
    Arbiter(int size, Send send);

    // What was decided by an arbiter before this one; `first_number` is above all that it gave to
    // groups.
    void inherit(const std::set<int>& left, const std::map<int, Status>& losses,
                 const Status& verdict, uint32_t first_number);
    // Ranks that neither have entered nor are known to be gone.
    [[nodiscard]] std::vector<int> awaited() const;

    // That rank can be sent to from now on, and hears what it missed.
    void enter(int rank);
    // What a rank says; kinds that are not about groups and steps are passed over. Throws NETWORK
    // if it is malformed.
    void hear(int rank, const Frame& frame);
    // That rank died, or nothing leads to it: the first group cannot go on, nor can those it is in.
    void lose(const Status& loss);
    // Why the first group cannot go on; the first cause counts.
    void decide(const Status& verdict);
    // Who has left is told in one frame for many: sends what has gathered since the last time.
    void tell_who_left();

    [[nodiscard]] bool is_decided() const { return !first_.verdict.ok(); }
    [[nodiscard]] bool has_left(int rank) const { return first_.left.contains(rank); }
    [[nodiscard]] bool is_lost(int rank) const { return losses_.contains(rank); }
    // Entered, and neither left nor lost.
    [[nodiscard]] bool is_member(int rank) const;
    [[nodiscard]] int members() const;

private:
    struct Group {
        std::vector<int> ranks;  // ascending order of their ranks in it; of the first: all
        Status verdict;
        std::set<int> left;
        std::vector<int> untold;  // of them
        Stalls stalls;
    };
    struct Step {
        std::vector<int> participants;
        std::map<int, std::string> words;  // of those who have come
        std::set<int> informed;            // of its failure
        uint32_t numbers = 0;
        std::optional<Failed> failure;
    };
    using StepName = std::pair<uint32_t, std::string>;
    using Steps = std::map<StepName, Step>;

    void open(int rank, uint32_t number, const std::vector<int>& ranks);
    void leave(int rank, uint32_t number);
    void stall(int rank, uint32_t number, const Stall& stall);
    void decide(uint32_t number, Group& group, const Status& verdict);
    void come(int rank, const Come& come);
    void complete(const StepName& name, Step& step);
    void recall(const Gathered& outcome);
    void give_up(int rank, const GiveUp& give_up);
    void fail_step(const StepName& name, Step& step, Status cause, std::vector<int> missing = {});
    // Steps that can come to nothing for this reason.
    template <typename Concerned>
    void fail_steps(Concerned&& concerned, const Status& cause);
    void forget_told_steps();
    Group* find(uint32_t number);
    [[nodiscard]] std::vector<int> missing(const Step& step) const;
    void tell(const Group& group, const std::string& frame);

    const int size_;
    const Send send_;
    std::vector<bool> entered_;  // by rank
    Group first_;
    std::map<uint32_t, Group> groups_;  // the others
    std::map<int, Status> losses_;
    Steps steps_;
    std::map<StepName, std::string> recalled_;  // outcomes that an arbiter before this one told
    uint32_t last_number_ = 0;                  // of a group
};

}  // namespace tutti::membership
