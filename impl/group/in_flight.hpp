// A call that uses a group's backend; Group::destroy() waits for it. The caller's thread, which
// takes no lock as long as the group is sound.
#pragma once

#include "group.hpp"

namespace tutti {

class Group::InFlight {
public:
    enum class Of { Sound, Any };  // groups made from a failed one may still use it

    InFlight(Group& group, const char* operation, Of which = Of::Sound) : group_(group) {
        if ((group_.inside_.fetch_add(in_flight_increment) & failed_bit) == 0) return;
        try {
            const Lock lock(group_.mutex_);
            group_.check_not_destroyed();
            if (which == Of::Sound) group_.check_not_failed(operation);
        } catch (...) {
            leave();
            throw;
        }
    }
    ~InFlight() { leave(); }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

private:
    // A waiting destroy() may end the group as soon as this call is not counted.
    void leave() noexcept {
        uint64_t inside = group_.inside_.load();
        while ((inside & failed_bit) == 0) {
            if (group_.inside_.compare_exchange_weak(inside, inside - in_flight_increment)) return;
        }
        const Lock lock(group_.mutex_);
        group_.inside_.fetch_sub(in_flight_increment);
        group_.idle_.notify_all();
    }

    Group& group_;
};

}  // namespace tutti
