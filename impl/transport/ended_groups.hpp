// The groups of a world that have ended, by their ids: messages for them are dropped. Ranges that
// meet become one, so a long row of groups costs one entry. One thread at a time.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace tutti {

class EndedGroups {
public:
    void add(uint32_t group) {
        uint32_t last = group;
        if (const auto after = ranges_.find(group + 1); after != ranges_.end()) {
            last = after->second;
            ranges_.erase(after);
        }
        const auto next = ranges_.upper_bound(group);
        if (next != ranges_.begin() && std::prev(next)->second + 1 == group) {
            std::prev(next)->second = last;
        } else {
            ranges_[group] = last;
        }
    }
    [[nodiscard]] bool contains(uint32_t group) const {
        const auto after = ranges_.upper_bound(group);
        return after != ranges_.begin() && std::prev(after)->second >= group;
    }

private:
    std::map<uint32_t, uint32_t> ranges_;  // from first to last
};

}  // namespace tutti
