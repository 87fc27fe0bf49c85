// Ranks whose processes a debugger holds, or may hold soon: their silence accuses nobody, their end
// does. Plain data, one thread at a time.
#pragma once

#include <map>
#include <set>
#include <vector>

namespace tutti::membership {

class Pauses {
public:
    // Rank `by` says this of that rank: itself, or one that it watches. True: with that the rank
    // has become, or is no longer, a paused one.
    bool set(int rank, int by, bool is_paused);
    // Nothing that rank `by` has said counts any more. Returns the ranks that are no longer paused.
    std::vector<int> forget(int by);
    [[nodiscard]] bool contains(int rank) const { return said_by_.contains(rank); }
    [[nodiscard]] std::set<int> all() const;

private:
    std::map<int, std::set<int>> said_by_;  // by paused rank; none is empty
};

}  // namespace tutti::membership
