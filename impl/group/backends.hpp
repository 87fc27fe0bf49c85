// The backends of a group: one for the CPU, always, and at most one for each other type of device.
// A call goes to the backend of its buffers' device, a call without buffers to the CPU's, or, where
// that one moves no byte strings, to one of the library's beside it. All exist from the making of
// the group to its end, so nothing here needs a lock.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/inline_backend.hpp"
#include "backend/split.hpp"
#include "backends/backend_map.hpp"
#include "backends/registry.hpp"
#include "backends/staged/staged.hpp"
#include "poller.hpp"
#include "progress/alarm.hpp"

namespace tutti {

// The type of the device that a call's buffers are on.
inline tutti_device_type device_of(const FlatCall& call) {
    return call.device.type;
}

// How a group's calls reach one of its backends. The capabilities stay valid when the backend is
// gone.
struct Route {
    tutti_device_type device = TUTTI_CPU;
    Backend* backend = nullptr;
    std::unique_ptr<Backend> owned;    // the same, of the first route that it serves
    InlineBackend* inlined = nullptr;  // the same, if its collectives end inline
    staged::Staged* staged = nullptr;  // the same, if it copies data to the CPU's backend
    StreamCalls* streams = nullptr;    // the same, if its calls have a place on streams
    std::string name;
    std::string known_as;  // in the map
    Capabilities can;
    bool can_all = false;              // all calls for the CPU
    std::shared_ptr<Poller> poller;    // of one that is polled
    std::shared_ptr<Alarm> deadlines;  // of works in the background, unless it is inline
};

// The backends of a group that are there before it opens the others, by their names in the map.
using MadeBackends = std::map<std::string, std::unique_ptr<Backend>>;

// One rank's part in the making of groups by the split of another one's backends.
struct GroupSplit {
    Membership& parent;
    std::string key;                    // of its steps: unique in that group
    int color;                          // see BackendSplit
    std::optional<BackendPlace> place;  // likewise
    Deadline deadline;
};

class Backends {
public:
    // Opens all of the map that are not made yet, and notes which the ranks have chosen. All ranks
    // of the group call it.
    void open(BackendMap& map, const BackendPlace& place, MadeBackends made = {});
    // The names in the map of another group whose backends are to be made by a split of ours.
    [[nodiscard]] std::vector<std::string> that_split(const BackendMap& map) const;
    // Splits those. All ranks of this group call it, one call at a time, in one order.
    MadeBackends split(const BackendMap& map, const GroupSplit& how);
    // Calls on that type of device go through memory of the CPU, unless there is a backend for it.
    void stage(tutti_device_type device, int rank, int ranks);
    // Takes a receive back, of whichever has it.
    bool cancel(const Work& receive) noexcept;
    // UNSUPPORTED, naming the device, if the group has no backend for it.
    [[nodiscard]] const Route& of(const FlatCall& call) const {
        return device_of(call) == TUTTI_CPU && !beside_ ? routes_.front() : find(call);
    }
    [[nodiscard]] const Route& cpu() const { return routes_.front(); }
    // The name of the one for that type of device, static; null: the group has none.
    [[nodiscard]] const char* name_for(tutti_device_type device) const;
    // All of them: "cpu:gloo,cuda:nccl", with their settings.
    [[nodiscard]] std::string config() const;

    // Throw UNSUPPORTED, naming the backend, if its capabilities exclude the call.
    void check(const FlatCall& call) const {
        if (const Route& route = of(call); !route.can_all) check(route, call);
    }
    // Also of messages; `has_bytes`: of as many bytes as come.
    void check_messages(tutti_device_type device, bool has_bytes) const;
    // UNSUPPORTED for a message that the backend has no tag for, or no such peer.
    void check_plain(tutti_device_type device, int tag, int peer, int rank) const;
    // The route of messages with buffers on that type of device.
    [[nodiscard]] const Route& of_messages(tutti_device_type device) const {
        return device == TUTTI_CPU ? routes_.front() : find(device, "messages");
    }
    // Takes a Send or a Receive.
    template <typename Call>
    [[nodiscard]] const Route& of_message(const Call& call) const {
        return call.content == Content::Elements ? of_messages(call.buffer.device.type)
                                                 : of_bytes();
    }
    // Where sends that were started before and may not be passed by this one wait for a device.
    [[nodiscard]] staged::Staged* waiting_before(const Send& call) const {
        return staged_ != nullptr && staged_->has_waiting(call) ? staged_ : nullptr;
    }

    // Whether one has memory of its own, on all ranks alike.
    [[nodiscard]] bool have_memory() const {
        return std::ranges::any_of(routes_, [](const Route& route) { return route.can.memory; });
    }
    // By the one for that type of device; see Backend.
    std::shared_ptr<void> alloc_memory(const Device& device, size_t bytes);
    void share_memory(const Device& device, void* memory, SplitSteps& steps);

    // Around messages of this thread that are under way at the same time.
    void begin_together() noexcept;
    void end_together() noexcept;

    // Before the end: see Backend. Any thread, without a lock of theirs.
    void abort(const Status& status) noexcept;
    void abort_messages(const Status& status) noexcept;
    void leave() noexcept;
    // From the membership: see Backend.
    void left(int rank) noexcept;
    // Nothing of the group uses them any more.
    void close() noexcept;

private:
    [[nodiscard]] Route route_to(tutti_device_type device, Backend& backend,
                                 std::unique_ptr<Backend> owned) const;
    void add(tutti_device_type device, Backend& backend, std::unique_ptr<Backend> owned);
    // The route of calls without a device, and of messages of as many bytes as come.
    [[nodiscard]] const Route& of_bytes() const { return beside_ ? *beside_ : routes_.front(); }
    [[nodiscard]] Backend* with_memory(tutti_device_type device) const;
    [[nodiscard]] Backend* find_known(const std::string& name) const;
    template <typename Act>
    void for_each_owned(Act&& act) noexcept;
    void check(const Route& route, const FlatCall& call) const;
    [[noreturn]] void refuse_cpu(const char* calls) const;
    // Whether buffers on such devices may be used.
    [[nodiscard]] bool has_buffers(const Route& route) const {
        return route.device != TUTTI_CPU || only_others_.empty();
    }
    [[nodiscard]] const Route& find(const FlatCall& call) const;
    [[nodiscard]] const Route& find(tutti_device_type device, const char* calls) const;

    std::vector<Route> routes_;    // the CPU's first
    std::optional<Route> beside_;  // for of_bytes(), if the CPU's cannot
    std::string only_others_;      // the backend that serves other devices than the CPU; "": none
    std::string with_cpu_;         // a map with that and one for the CPU
    staged::Staged* staged_ = nullptr;
};

class Together {
public:
    explicit Together(Backends& backends) : backends_(backends) { backends_.begin_together(); }
    ~Together() { backends_.end_together(); }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

private:
    Backends& backends_;
};

}  // namespace tutti
