// One rank's side of the decisions that the living ranks of a group take (consensus.hpp). All ranks
// take them in the same order, and number them. Ranks are those of the world. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "protocol.hpp"

namespace tutti::membership {

class Decisions {
public:
    using Send = std::function<void(std::string frame)>;
    // `participants`: all ranks of the group, in the order of their ranks in it.
    Decisions(uint32_t group, std::vector<int> participants, Send send);

    // The words of this rank in the next one.
    struct Terms {
        std::string payload;
        std::vector<int> excluded{};
        uint32_t new_groups = 0;
    };
    // The frame by which a rank takes part in the first of a group that it does not make.
    static std::string first_proposal(uint32_t group, std::vector<int> participants,
                                      const Terms& terms);
    // Waits for the next decision, for one thread after the other. Nothing: the deadline has
    // passed, and the arbiter has not answered either. The decision may still come; the next call
    // returns it then. Throws if the rank has ended its part in the group; TIMEOUT if it has
    // passed before the turn of this thread.
    std::optional<Decision> take(const Terms& terms, const Deadline& deadline);
    // Says this in the next decision and does not wait for it: take() returns the one after it.
    void pass(const Terms& terms);

    void on_decision(const Decision& decision);
    // This rank takes no part any more.
    void end(const Status& why);

private:
    class Turn;
    [[nodiscard]] std::string propose(const Terms& terms) const TUTTI_REQUIRES(mutex_);
    [[nodiscard]] std::string key() const TUTTI_REQUIRES(mutex_);
    bool wait(Lock& lock, const Deadline& deadline) TUTTI_REQUIRES(mutex_);

    const uint32_t group_;
    const std::vector<int> participants_;
    const Send send_;
    Mutex mutex_;
    Condition changed_;
    bool is_taking_ TUTTI_GUARDED_BY(mutex_) = false;  // some thread has its turn
    uint64_t taken_ TUTTI_GUARDED_BY(mutex_) = 0;
    std::optional<Decision> next_ TUTTI_GUARDED_BY(mutex_);
    Status end_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::membership
