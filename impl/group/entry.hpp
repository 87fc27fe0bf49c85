// A call that uses a group's backend; Group::destroy() waits for it. The caller's thread, which
// takes no lock as long as the group is sound.
#pragma once

#include "group.hpp"

namespace tutti {

class Group::Entry {
public:
    enum class Of { Sound, Any };  // a failed group is of use still to those made from it

    Entry(Group& group, const char* operation, Of which = Of::Sound) : group_(group) {
        // Either this thread sees that the group has come to harm, or who waits for those inside
        // sees this one.
        group_.inside_.fetch_add(1);
        if (!group_.harmed_.load()) return;
        try {
            const Lock lock(group_.mutex_);
            group_.check_not_destroyed();
            if (which == Of::Sound) group_.check_not_failed(operation);
        } catch (...) {
            leave();
            throw;
        }
    }
    ~Entry() { leave(); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

private:
    void leave() noexcept {
        if (group_.inside_.fetch_sub(1) > 1 || !group_.harmed_.load()) return;
        const Lock lock(group_.mutex_);
        group_.idle_.notify_all();
    }

    Group& group_;
};

}  // namespace tutti
