#include "coverage.hpp"

namespace tutti::membership {

Coverage::Coverage(int size, int own_rank)
    : own_rank_(own_rank), watchers_(static_cast<size_t>(size), nobody) {}

void Coverage::set_watched(int rank, const std::vector<int>& ranks) {
    watched_[rank] = {ranks.begin(), ranks.end()};
    changed_ = true;
}

bool Coverage::watches(int rank, int watched) const {
    const auto found = watched_.find(rank);
    return found != watched_.end() && found->second.contains(watched);
}

// A lower one, so that no two cover each other, and one that speaks for itself.
int Coverage::find_watcher(int rank, const std::vector<bool>& members,
                           const std::vector<int>& found) const {
    if (!members[static_cast<size_t>(rank)]) return nobody;
    if (rank == own_rank_) return rank;
    const auto own = watched_.find(rank);
    if (own == watched_.end()) return nobody;
    for (const int other : own->second) {
        if (other < 0 || other >= rank || !members[static_cast<size_t>(other)]) continue;
        const int above = found[static_cast<size_t>(other)];
        if ((above == nobody || above == other) && watches(other, rank)) return other;
    }
    return nobody;
}

std::vector<std::pair<int, int>> Coverage::find_changes(const std::vector<bool>& members) {
    std::vector<std::pair<int, int>> changes;
    std::vector<int> found(watchers_.size(), nobody);
    for (size_t rank = 0; rank < found.size(); ++rank) {
        found[rank] = find_watcher(static_cast<int>(rank), members, found);
        if (found[rank] != watchers_[rank]) {
            changes.emplace_back(static_cast<int>(rank), found[rank]);
        }
    }
    watchers_ = std::move(found);
    return changes;
}

}  // namespace tutti::membership
