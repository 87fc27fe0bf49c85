// A call that uses a group's backend; Group::destroy() waits for it. The caller's thread.
#pragma once

#include "group.hpp"

namespace tutti {

class Group::Entry {
public:
    explicit Entry(Group& group) : group_(group) {
        const Lock lock(group_.mutex_);
        group_.check_open();
        ++group_.inside_;
    }
    ~Entry() {
        const Lock lock(group_.mutex_);
        if (--group_.inside_ == 0) group_.idle_.notify_all();
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

private:
    Group& group_;
};

}  // namespace tutti
