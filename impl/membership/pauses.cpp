#include "pauses.hpp"

namespace tutti::membership {

bool Pauses::set(int rank, int by, bool is_paused) {
    if (is_paused) {
        const bool is_new = !contains(rank);
        said_by_[rank].insert(by);
        return is_new;
    }
    const auto found = said_by_.find(rank);
    if (found == said_by_.end() || found->second.erase(by) == 0 || !found->second.empty()) {
        return false;
    }
    said_by_.erase(found);
    return true;
}

std::vector<int> Pauses::forget(int by) {
    std::vector<int> resumed;
    for (const int rank : all()) {
        if (set(rank, by, false)) resumed.push_back(rank);
    }
    return resumed;
}

std::set<int> Pauses::all() const {
    std::set<int> ranks;
    for (const auto& [rank, by] : said_by_) ranks.insert(rank);
    return ranks;
}

}  // namespace tutti::membership
