// The groups made, directly or not, from one first group of this process; they end with it. Any
// thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/mutex.hpp"

namespace tutti {

class Group;

class GroupTree {
public:
    // False when the first group has ended: the new one must end as well.
    bool add(const std::shared_ptr<Group>& group);
    void remove(const Group& group) noexcept;
    // The groups still in it; none is added afterwards.
    std::vector<std::shared_ptr<Group>> end();
    [[nodiscard]] size_t size() const;

private:
    mutable Mutex mutex_;
    std::map<const Group*, std::weak_ptr<Group>> groups_ TUTTI_GUARDED_BY(mutex_);
    bool ended_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti
