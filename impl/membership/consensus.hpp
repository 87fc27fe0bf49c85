// Decisions that the living ranks of a group take, whoever dies meanwhile: which of them are the
// members of the next group, or one value for all. A decision waits for all participants but those
// that are lost, have left or are excluded, and is the same for all. Nothing that has befallen the
// group ends it. Knows frames and ranks, no connections and no time; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Consensus {
public:
    struct Hooks {
        // Why that rank takes no part in decisions of that group; OK: it does.
        std::function<Status(uint32_t group, int rank)> why_gone;
        std::function<void(int rank, const std::string& frame)> send;
        // Ids for that many new groups: the first; nothing: there are not so many.
        std::function<std::optional<uint32_t>(uint32_t count)> new_group_ids;
    };
    Consensus(int size, Hooks hooks);

    // There was an arbiter before: until a rank has repeated all that it knows, it may know a
    // decision, so nothing is decided without it.
    void follow_another();
    void caught_up(int rank);
    [[nodiscard]] bool has_caught_up(int rank) const {
        return caught_up_[static_cast<size_t>(rank)];
    }

    // Throws NETWORK if it is malformed.
    void propose(int rank, const Proposal& proposal);
    // The time of that rank is up. False: that is no decision under way here.
    bool give_up(int rank, const GiveUp& give_up);
    // So the living decided at the arbiter before, as one of them says.
    void restore(const Decision& decision);
    // Some rank has been lost, or has left.
    void review();

private:
    using Name = std::pair<uint32_t, std::string>;
    struct Poll {
        std::vector<int> participants;
        std::map<int, Proposal> proposals;  // by rank
        std::optional<int> timed_out{};     // the rank that gave up, before it could be decided
    };
    struct Decided {
        std::string frame;
        std::set<int> awaited;  // ranks that may still ask
    };

    void settle(const Name& name);
    [[nodiscard]] bool is_gone(const Name& name, int rank) const;
    void dismiss_the_gone(const Name& name, Poll& poll);
    [[nodiscard]] bool all_have_caught_up(const Name& name, const Poll& poll) const;
    [[nodiscard]] std::vector<int> absent(const Name& name, const Poll& poll) const;
    [[nodiscard]] std::set<int> excluded_by(const Name& name, const Proposal& proposal) const;
    [[nodiscard]] Decision outcome(const Name& name, const Poll& poll) const;
    [[nodiscard]] Decision difference(const Name& name, const Poll& poll,
                                      const std::set<int>& excluded) const;
    void decide(const Name& name, Decision decision);
    void forget_the_answered();

    const int size_;
    const Hooks hooks_;
    std::vector<bool> caught_up_;  // by rank
    std::map<Name, Poll> polls_;
    std::map<Name, Decided> decided_;
};

}  // namespace tutti::membership
