#include "group_devices.hpp"

#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "device_ranks.hpp"
#include "group.hpp"
#include "making.hpp"
#include "membership/bootstrap.hpp"

namespace tutti {

namespace {

std::string text_of(const std::vector<Device>& devices) {
    std::string text;
    for (const Device& device : devices) text += cat(text.empty() ? "" : ", ", describe(device));
    return text;
}

// A thread for each device but the first, which is the caller's.
class Openers {
public:
    Openers(size_t count, const std::function<void(size_t)>& open) : open_(open) {
        const std::shared_future<bool> begins = begin_.get_future();
        try {
            for (size_t index = 1; index < count; ++index) {
                threads_.push_back(start_thread("tutti-devices", [&open, begins, index] {
                    if (begins.get()) open(index);
                }));
            }
        } catch (...) {
            cancel();
            throw;
        }
    }
    ~Openers() { cancel(); }
    Openers(const Openers&) = delete;
    Openers& operator=(const Openers&) = delete;

    // Returns when all are open.
    void run() {
        begin_.set_value(true);
        open_(0);
        join();
    }

private:
    void cancel() {
        if (threads_.empty()) return;
        begin_.set_value(false);
        join();
    }
    void join() {
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

    const std::function<void(size_t)>& open_;
    std::promise<bool> begin_;
    std::vector<std::thread> threads_;
};

// One that waited for a device that failed tells of a timeout only.
Status cause_of(const std::vector<Status>& failures) {
    Status cause;
    for (const Status& one : failures) {
        if (cause.ok() || (cause.code == TUTTI_ERR_TIMEOUT && !one.ok())) cause = one;
    }
    return cause;
}

}  // namespace

void GroupDevices::check(const char* buffers, const std::vector<Device>& devices) {
    for (const Device& device : devices) group_.identity.check_bound(device, "the buffers are on");
    if (!group_.store) refuse("group has no store, where its devices could meet");
    const auto most = static_cast<size_t>(Group::max_ranks / group_.identity.size);
    if (devices.size() > most) {
        refuse("there are ", devices.size(), " buffers; each rank can have ", most);
    }
    const Lock lock(mutex_);
    if (!ranks_ || ranks_->devices() == devices) return;
    refuse(buffers, " are on ", text_of(devices), ", but the first such call on ",
           group_.identity.label(), " had ", text_of(ranks_->devices()),
           "; all must have the same");
}

std::shared_ptr<DeviceRanks> GroupDevices::ranks(const char* function, const char* buffers,
                                                 const std::vector<Device>& devices,
                                                 int64_t timeout_ms) {
    if (auto there = await_ranks(function, timeout_ms)) {
        check(buffers, devices);
        return there;
    }
    std::shared_ptr<DeviceRanks> opened;
    try {
        opened = std::make_shared<DeviceRanks>(group_.identity.label(), devices,
                                               open(function, devices, timeout_ms));
    } catch (...) {
        (void)adopt(nullptr);
        throw;
    }
    if (adopt(opened)) return opened;
    opened->destroy(0);
    throw Error(TUTTI_ERR_ABORTED,
                cat(function, " on ", group_.identity.label(), ": it was destroyed meanwhile"));
}

std::shared_ptr<DeviceRanks> GroupDevices::await_ranks(const char* function, int64_t timeout_ms) {
    const InFlight entry(group_.life, function);
    const Deadline until = group_.deadline(timeout_ms);
    Lock lock(mutex_);
    while (is_opening_ && !is_closed_) {
        if (!opened_.wait(lock, until) && is_opening_) {
            throw Error(TUTTI_ERR_TIMEOUT, cat(function, " on ", group_.identity.label(),
                                               ": timed out waiting for the first such call, which "
                                               "another thread has made"));
        }
    }
    if (is_closed_) {
        throw Error(TUTTI_ERR_INVALID_HANDLE, cat(group_.identity.label(), " was destroyed"));
    }
    if (!ranks_) is_opening_ = true;
    return ranks_;
}

bool GroupDevices::adopt(const std::shared_ptr<DeviceRanks>& opened) {
    const Lock lock(mutex_);
    is_opening_ = false;
    opened_.notify_all();
    if (is_closed_) return false;
    ranks_ = opened;
    return true;
}

void GroupDevices::decline(const char* function, const Status& why) noexcept {
    {
        const Lock lock(mutex_);
        if (is_closed_ || ranks_ || is_opening_) return;
    }
    SplitOptions first_call;
    first_call.function = function;
    splitting_.decline(first_call, why);
}

// They meet as any ranks do, in the store where this group's have met. What a rank needs for that
// it takes before the ranks agree: one that cannot have it leaves no others waiting.
std::vector<std::shared_ptr<Group>> GroupDevices::open(const char* function,
                                                       const std::vector<Device>& devices,
                                                       int64_t timeout_ms) {
    const size_t count = devices.size();
    SplitOptions agreed;
    agreed.function = function;
    agreed.timeout_ms = timeout_ms;
    agreed.arguments = {cat("buffers on ", count, count == 1 ? " device" : " devices")};
    GroupOptions options;
    std::vector<std::shared_ptr<Group>> groups(count);
    std::vector<Status> failures(count);
    const std::function<void(size_t)> open = [&](size_t index) {
        const int rank = group_.identity.rank * static_cast<int>(count) + static_cast<int>(index);
        try {
            GroupOptions own = options;
            own.rank = rank;
            own.bound = devices[index];
            groups[index] = Group::create(own);
        } catch (...) {
            failures[index] = current_status();
            if (failures[index].code == TUTTI_ERR_TIMEOUT) return;
            membership::tell_failure(*options.store, rank, failures[index]);
        }
    };
    // All ranks fail, or none.
    const auto fail = [&](Status status) {
        splitting_.give_up(agreed, status);
        throw Error(DeviceRanks::in_ranks(std::move(status),
                                          cat(function, " on ", group_.identity.label()), count));
    };
    std::optional<Openers> openers;
    try {
        openers.emplace(count, open);
    } catch (...) {
        Status status = current_status();
        blame_own_exhaustion(status, group_.identity.rank * static_cast<int>(count));
        fail(std::move(status));
    }
    options.map = group_.backend_map;
    options.size = group_.identity.size * static_cast<int>(count);
    options.name = cat(group_.identity.name, " by device");
    options.timeout_ms = group_.effective_timeout(timeout_ms);
    options.reproducible = group_.identity.reproducible;
    options.store = make_prefix_store(cat("devices/", splitting_.compare(agreed)), group_.store);
    openers->run();
    if (const Status cause = cause_of(failures); !cause.ok()) fail(cause);
    agreed.arguments = {"all devices opened"};
    splitting_.compare(agreed);
    return groups;
}

void GroupDevices::close(int64_t leave_ms) noexcept {
    std::shared_ptr<DeviceRanks> ranks;
    {
        const Lock lock(mutex_);
        is_closed_ = true;
        ranks = std::move(ranks_);
        opened_.notify_all();
    }
    if (ranks) ranks->destroy(leave_ms);
}

}  // namespace tutti
