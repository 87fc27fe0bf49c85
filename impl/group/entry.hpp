// A call that uses a group's backend; Group::destroy() waits for it. The caller's thread.
#pragma once

#include "group.hpp"

namespace tutti {

class Group::Entry {
public:
    enum class Of { Sound, Any };  // a failed group is of use still to those made from it

    Entry(Group& group, const char* operation, Of which = Of::Sound) : group_(group) {
        const Lock lock(group_.mutex_);
        group_.check_not_destroyed();
        if (which == Of::Sound) group_.check_not_failed(operation);
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
