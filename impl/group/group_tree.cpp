#include "group_tree.hpp"

namespace tutti {

bool GroupTree::add(const std::shared_ptr<Group>& group) {
    const Lock lock(mutex_);
    if (ended_) return false;
    groups_[group.get()] = group;
    return true;
}

void GroupTree::remove(const Group& group) noexcept {
    const Lock lock(mutex_);
    groups_.erase(&group);
}

std::vector<std::shared_ptr<Group>> GroupTree::end() {
    std::vector<std::shared_ptr<Group>> alive;
    const Lock lock(mutex_);
    ended_ = true;
    for (const auto& [address, group] : groups_) {
        if (auto one = group.lock()) alive.push_back(std::move(one));
    }
    return alive;
}

size_t GroupTree::size() const {
    const Lock lock(mutex_);
    return groups_.size();
}

}  // namespace tutti
