// Whether a group goes on: it does until it fails or is destroyed, and the first failure counts. A
// call that uses the group's backends is InFlight, which the end of the group waits for; while the
// group is sound, that takes no lock. Any thread.
#pragma once

#include <optional>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "identity.hpp"
#include "progress/gate.hpp"
#include "work/work.hpp"

namespace tutti {

class GroupLife {
public:
    explicit GroupLife(const GroupIdentity& identity) : identity_(identity) {}

    // False: it has failed or was destroyed before, which counts. `for_others`: the reason for
    // calls that have not failed themselves.
    bool fail(const Status& status, const Status& for_others) noexcept;
    // Why it has failed, or OK if it was destroyed first; nothing: it goes on.
    [[nodiscard]] std::optional<Status> end() const;
    // Of a collective that was issued on a sound group: one in front of it may have failed since.
    // Ranks have then left that one at different places, so what this one sent would be taken for
    // a part of it.
    void check_turn() const {
        if (gate_.is_shut()) check_turn_after_end();
    }

    // The end, once, on one thread. Throws INVALID_HANDLE the second time. Returns whether the
    // group has failed before.
    bool begin_destroy();
    // Until no call is in flight; none begins any more.
    void wait_until_unused() noexcept { gate_.wait_until_unused(); }
    void end_destroy() noexcept;
    // Until another thread has destroyed the group.
    void wait_for_end() noexcept;

private:
    friend class InFlight;
    void check_goes_on(const char* operation, bool also_failed) const;
    void check_turn_after_end() const;

    const GroupIdentity& identity_;
    Gate gate_;  // of calls in flight; shut: the group is destroyed or has failed
    mutable Mutex mutex_;
    Condition has_ended_;
    Status failure_ TUTTI_GUARDED_BY(mutex_);
    Status failure_for_others_ TUTTI_GUARDED_BY(mutex_);
    bool is_destroyed_ TUTTI_GUARDED_BY(mutex_) = false;
    bool has_all_ended_ TUTTI_GUARDED_BY(mutex_) = false;  // after that
};

// A call that uses a group's backends. The caller's thread.
class InFlight {
public:
    enum class Of { Sound, Any };  // groups made from a failed one may still use it

    InFlight(GroupLife& life, const char* operation, Of which = Of::Sound) : gate_(life.gate_) {
        if (gate_.enter()) return;
        try {
            life.check_goes_on(operation, which == Of::Any);
        } catch (...) {
            gate_.leave();
            throw;
        }
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight() {
        if (!has_left_) gate_.leave();
    }

    // Leaves when that goes instead, if it has entered.
    [[nodiscard]] static Afterwards leave_afterwards(std::optional<InFlight>& entry) noexcept {
        if (!entry) return {};
        Gate& gate = entry->gate_;
        entry->has_left_ = true;
        entry.reset();
        return {[](void* left) noexcept { static_cast<Gate*>(left)->leave(); }, &gate};
    }

private:
    Gate& gate_;
    bool has_left_ = false;
};

// Acts within a call of the group, whether or not it has failed; not at all once it is destroyed.
template <typename Act>
void unless_destroyed(GroupLife& life, Act&& act) {
    try {
        const InFlight entry(life, "", InFlight::Of::Any);
        act();
    } catch (const Error&) {  // destroyed meanwhile
    }
}

}  // namespace tutti
