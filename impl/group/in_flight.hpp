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
        if (group_.gate_.enter()) return;
        try {
            const Lock lock(group_.mutex_);
            group_.check_not_destroyed();
            if (which == Of::Sound) group_.check_not_failed(operation);
        } catch (...) {
            group_.gate_.leave();
            throw;
        }
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() {
        if (!has_left_) group_.gate_.leave();
    }

    // Leaves when that goes instead, if it has entered.
    [[nodiscard]] static Afterwards leave_afterwards(std::optional<InFlight>& entry) noexcept {
        if (!entry) return {};
        Gate& gate = entry->group_.gate_;
        entry->has_left_ = true;
        entry.reset();
        return {[](void* left) noexcept { static_cast<Gate*>(left)->leave(); }, &gate};
    }

private:
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
