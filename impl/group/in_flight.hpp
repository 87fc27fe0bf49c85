// A call that uses a group's backend; Group::destroy() waits for it. The caller's thread, which
// takes no lock as long as the group is sound.
#pragma once

#include <optional>

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
            leave(group_);
            throw;
        }
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() {
        if (!has_left_) leave(group_);
    }

    // Leaves when that goes instead, if it has entered.
    [[nodiscard]] static Afterwards leave_afterwards(std::optional<InFlight>& entry) noexcept {
        if (!entry) return {};
        Group& group = entry->group_;
        entry->has_left_ = true;
        entry.reset();
        return {[](void* left) noexcept { leave(*static_cast<Group*>(left)); }, &group};
    }

private:
    // A waiting destroy() may end the group as soon as this call is not counted.
    static void leave(Group& group) noexcept {
        uint64_t inside = group.inside_.load();
        while ((inside & failed_bit) == 0) {
            if (group.inside_.compare_exchange_weak(inside, inside - in_flight_increment)) return;
        }
        const Lock lock(group.mutex_);
        group.inside_.fetch_sub(in_flight_increment);
        group.idle_.notify_all();
    }

    Group& group_;
    bool has_left_ = false;
};

// By which works enter their group, which they do not keep: it may end before them.
class Group::Door {
public:
    explicit Door(Group& group) : group_(&group) {}

    // Until `entry` goes the group stays. Null: it has ended, or is about to.
    Group* enter(std::optional<InFlight>& entry, const char* operation) {
        const Lock lock(mutex_);
        if (group_ == nullptr) return nullptr;
        try {
            entry.emplace(*group_, operation, InFlight::Of::Any);
        } catch (const Error&) {  // it is being destroyed
            return nullptr;
        }
        return group_;
    }
    void close() noexcept {
        const Lock lock(mutex_);
        group_ = nullptr;
    }

private:
    Mutex mutex_;
    Group* group_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti
