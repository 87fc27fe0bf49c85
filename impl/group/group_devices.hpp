// The devices of a rank as ranks of a group of their own, which the first call on a list of buffers
// makes on all ranks. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.hpp"
#include "core.hpp"
#include "splitting.hpp"

namespace tutti {

class DeviceRanks;
class Group;

class GroupDevices {
public:
    GroupDevices(GroupCore& group, Splitting& splitting) : group_(group), splitting_(splitting) {}

    // Throws INVALID_ARGUMENT, naming `buffers`, for devices that ranks() cannot have.
    void check(const char* buffers, const std::vector<Device>& devices);
    // For checked calls on a buffer of each device. The first call waits until all ranks have made
    // it, up to the timeout; all have as many devices, and the same in each call. Throws as
    // Group::split(), and as check().
    std::shared_ptr<DeviceRanks> ranks(const char* function, const char* buffers,
                                       const std::vector<Device>& devices, int64_t timeout_ms);
    // A call with wrong arguments: if it is the first, it fails on the other ranks as well. Does
    // not wait.
    void decline(const char* function, const Status& why) noexcept;

    // The group is destroyed.
    void close(int64_t leave_ms) noexcept;

private:
    std::vector<std::shared_ptr<Group>> open(const char* function,
                                             const std::vector<Device>& devices,
                                             int64_t timeout_ms);
    // Null: there are none, and this thread shall open them, and end that with adopt().
    std::shared_ptr<DeviceRanks> await_ranks(const char* function, int64_t timeout_ms);
    // Null: they could not be opened. False: the group has been destroyed.
    bool adopt(const std::shared_ptr<DeviceRanks>& opened);

    GroupCore& group_;
    Splitting& splitting_;
    Mutex mutex_;
    Condition opened_;  // or not, or the group was destroyed
    std::shared_ptr<DeviceRanks> ranks_ TUTTI_GUARDED_BY(mutex_);
    bool is_opening_ TUTTI_GUARDED_BY(mutex_) = false;
    bool is_closed_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti
