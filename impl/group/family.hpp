// The groups that were made, in whatever steps, from one first group of this process: who must end
// with it. Any thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/mutex.hpp"

namespace tutti {

class Group;

class Family {
public:
    // False when the first group has ended: the new one must end, too.
    bool add(const std::shared_ptr<Group>& group);
    void remove(const Group& group) noexcept;
    // Whoever is in it still; nobody is added afterwards.
    std::vector<std::shared_ptr<Group>> end();
    [[nodiscard]] size_t size() const;

private:
    mutable Mutex mutex_;
    std::map<const Group*, std::weak_ptr<Group>> groups_ TUTTI_GUARDED_BY(mutex_);
    bool ended_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti
