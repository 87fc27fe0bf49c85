// A call that uses a group's backend; Group::destroy() waits for it. The caller's thread, which
// takes no lock as long as the group is sound.
#pragma once

#include "group.hpp"

namespace tutti {

class Group::Entry {
public:
    enum class Of { Sound, Any };  // groups made from a failed one may still use it

    Entry(Group& group, const char* operation, Of which = Of::Sound) : group_(group) {
        if ((group_.inside_.fetch_add(one_inside) & harmed) == 0) return;
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
    // A waiting destroy() may end the group as soon as this call is not counted.
    void leave() noexcept {
        uint64_t inside = group_.inside_.load();
        while ((inside & harmed) == 0) {
            if (group_.inside_.compare_exchange_weak(inside, inside - one_inside)) return;
        }
        const Lock lock(group_.mutex_);
        group_.inside_.fetch_sub(one_inside);
        group_.idle_.notify_all();
    }

    Group& group_;
};

}  // namespace tutti
