// The ranks that need not say that they live, since another one sees that they do: a watcher covers
// those that it watches and that watch it. Plain data, one thread at a time.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "protocol.hpp"

namespace tutti::membership {

class Coverage {
public:
    // The rank that coordinates needs no word of itself; it may be no rank.
    Coverage(int size, int own_rank);

    // Rank `rank` watches these ranks from now on.
    void set_watched(int rank, const std::vector<int>& ranks);
    [[nodiscard]] bool watches(int rank, int watched) const;
    // The members have changed.
    void note_change() { changed_ = true; }
    // Returns each rank whose watcher has changed, and its watcher or nobody.
    template <typename IsMember>
    std::vector<std::pair<int, int>> update(IsMember&& is_member) {
        if (!std::exchange(changed_, false)) return {};
        std::vector<bool> members(watchers_.size());
        for (size_t rank = 0; rank < members.size(); ++rank) {
            members[rank] = is_member(static_cast<int>(rank));
        }
        return find_changes(members);
    }
    // The watcher of a rank; nobody while the rank has to speak for itself.
    [[nodiscard]] int watcher_of(int rank) const { return watchers_[static_cast<size_t>(rank)]; }

private:
    std::vector<std::pair<int, int>> find_changes(const std::vector<bool>& members);
    [[nodiscard]] int find_watcher(int rank, const std::vector<bool>& members,
                                   const std::vector<int>& found) const;

    const int own_rank_;
    bool changed_ = true;
    std::map<int, std::set<int>> watched_;  // by rank; of those that watch any
    std::vector<int> watchers_;             // by rank
};

}  // namespace tutti::membership
