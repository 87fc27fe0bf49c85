#include "device_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"
#include "in_flight.hpp"
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

void Group::check_device_ranks(const char* buffers, const std::vector<Device>& devices) {
    for (const Device& device : devices) check_bound(device, "the buffers are on");
    if (!store_) refuse("group has no store, where its devices could meet");
    const auto most = static_cast<size_t>(max_ranks / size_);
    if (devices.size() > most) {
        refuse("there are ", devices.size(), " buffers; each rank can have ", most);
    }
    const Lock lock(mutex_);
    if (!device_ranks_ || device_ranks_->devices() == devices) return;
    refuse(buffers, " are on ", text_of(devices), ", but the first such call on ", label(), " had ",
           text_of(device_ranks_->devices()), "; all must have the same");
}

std::shared_ptr<DeviceRanks> Group::device_ranks(const char* function, const char* buffers,
                                                 const std::vector<Device>& devices,
                                                 int64_t timeout_ms) {
    if (auto there = await_device_ranks(function, timeout_ms)) {
        check_device_ranks(buffers, devices);
        return there;
    }
    std::shared_ptr<DeviceRanks> opened;
    try {
        opened = std::make_shared<DeviceRanks>(*this, devices,
                                               open_device_ranks(function, devices, timeout_ms));
    } catch (...) {
        (void)adopt_device_ranks(nullptr);
        throw;
    }
    if (adopt_device_ranks(opened)) return opened;
    opened->destroy(0);
    throw Error(TUTTI_ERR_ABORTED, cat(function, " on ", label(), ": it was destroyed meanwhile"));
}

std::shared_ptr<DeviceRanks> Group::await_device_ranks(const char* function, int64_t timeout_ms) {
    const InFlight entry(*this, function);
    const Deadline until = deadline(timeout_ms);
    Lock lock(mutex_);
    while (opens_device_ranks_) {
        if (!device_ranks_opened_.wait(lock, until) && opens_device_ranks_) {
            throw Error(TUTTI_ERR_TIMEOUT, cat(function, " on ", label(),
                                               ": timed out waiting for the first such call, which "
                                               "another thread has made"));
        }
        check_not_destroyed();
    }
    if (!device_ranks_) opens_device_ranks_ = true;
    return device_ranks_;
}

bool Group::adopt_device_ranks(const std::shared_ptr<DeviceRanks>& opened) {
    const Lock lock(mutex_);
    opens_device_ranks_ = false;
    device_ranks_opened_.notify_all();
    if (destroyed_) return false;
    device_ranks_ = opened;
    return true;
}

void Group::decline_device_ranks(const char* function, const Status& why) noexcept {
    {
        const Lock lock(mutex_);
        if (destroyed_ || device_ranks_ || opens_device_ranks_) return;
    }
    SplitOptions first_call;
    first_call.function = function;
    decline(first_call, why);
}

// They meet as any ranks do, in the store where this group's have met. What a rank needs for that
// it takes before the ranks agree: one that cannot have it leaves no others waiting.
std::vector<std::shared_ptr<Group>> Group::open_device_ranks(const char* function,
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
        const int rank = rank_ * static_cast<int>(count) + static_cast<int>(index);
        try {
            GroupOptions own = options;
            own.rank = rank;
            own.bound = devices[index];
            groups[index] = create(own);
        } catch (...) {
            failures[index] = current_status();
            if (failures[index].code == TUTTI_ERR_TIMEOUT) return;
            membership::tell_failure(*options.store, rank, failures[index]);
        }
    };
    // All ranks fail, or none.
    const auto fail = [&](Status status) {
        give_up(agreed, status);
        throw Error(
            DeviceRanks::in_ranks(std::move(status), cat(function, " on ", label()), count));
    };
    std::optional<Openers> openers;
    try {
        openers.emplace(count, open);
    } catch (...) {
        Status status = current_status();
        blame_own_exhaustion(status, rank_ * static_cast<int>(count));
        fail(std::move(status));
    }
    options.map = backend_map_;
    options.size = size_ * static_cast<int>(count);
    options.name = cat(name_, " by device");
    options.timeout_ms = effective_timeout(timeout_ms);
    options.reproducible = reproducible_;
    options.store = make_prefix_store(cat("devices/", compare(agreed)), store_);
    openers->run();
    if (const Status cause = cause_of(failures); !cause.ok()) fail(cause);
    agreed.arguments = {"all devices opened"};
    compare(agreed);
    return groups;
}

Status DeviceRanks::in_ranks(Status status, const std::string& context, size_t devices) {
    status.message = cat(context, ": ", status.message);
    if (status.rank < 0) return status;
    const int own = status.rank;
    const int count = static_cast<int>(devices);
    status.rank = own / count;
    status.message +=
        cat("; rank ", own, " there is device ", own % count, " of rank ", status.rank, " here");
    return status;
}

void DeviceRanks::check_devices(const std::vector<Device>& devices, const char* buffers) {
    if (devices.empty()) refuse(buffers, " is empty; it has a buffer for each device");
    for (size_t index = 0; index < devices.size(); ++index) {
        const Device& device = devices[index];
        if (device.type == TUTTI_CPU) refuse(buffers, "[", index, "] is on the CPU");
        const auto before = std::ranges::find(devices, device) - devices.begin();
        if (static_cast<size_t>(before) != index) {
            refuse(buffers, "[", index, "] is on ", describe(device), ", as is ", buffers, "[",
                   before, "]; each needs a device of its own");
        }
    }
}

void DeviceRanks::check_each(const Group& group, const std::vector<Device>& devices,
                             const std::function<void(int, int, size_t)>& check) {
    const auto count = static_cast<int>(devices.size());
    for (int index = 0; index < count; ++index) {
        const auto place = static_cast<size_t>(index);
        try {
            check(group.rank() * count + index, group.size() * count, place);
        } catch (const Error& error) {
            Status status = error.status();
            status.message = cat("for ", describe(devices[place]), ", ", status.message);
            throw Error(status);
        }
    }
}

// A call that is refused before it starts is refused for the first device. If another one fails,
// the calls before it would wait for ever.
DeviceRanks::Works DeviceRanks::start_all(
    const char* function, const std::function<std::shared_ptr<Work>(Group&, size_t)>& start) {
    const Lock lock(starting_);
    Works works;
    try {
        for (size_t index = 0; index < mine_.size(); ++index) {
            works.push_back(start(*mine_[index], index));
        }
        return works;
    } catch (...) {
        Status status = current_status();
        const int own = mine_[works.size()]->rank();
        blame_own_exhaustion(status, own);
        if (!works.empty()) {
            const Status cause = gave_up(own, status);
            for (const auto& group : mine_) group->abandon(cause);
            for (const auto& work : works) work->wait(Deadline::never());
        }
        throw Error(in_ranks(std::move(status), context(function), mine_.size()));
    }
}

void DeviceRanks::wait(const char* function, const Works& works) const {
    for (const auto& work : works) work->wait(Deadline::never());
    const Status status = first_failure(works);
    if (!status.ok()) throw Error(in_ranks(status, context(function), works.size()));
}

std::shared_ptr<Work> DeviceRanks::join(const char* function, const Works& works) const {
    auto all = std::make_shared<Work>(function);
    all->set_sequence_number(works.front()->sequence_number());
    auto left = std::make_shared<std::atomic<size_t>>(works.size());
    const auto ended = [all, left, works, context = context(function)](const Status&) {
        if (left->fetch_sub(1) != 1) return;
        const Status status = first_failure(works);
        all->finish(status.ok() ? status : in_ranks(status, context, works.size()));
    };
    for (const auto& work : works) work->then(ended, Callbacks::of_library());
    return all;
}

// The first that names a rank, if there is one.
Status DeviceRanks::first_failure(const Works& works) {
    Status first;
    for (const auto& work : works) {
        const Status status = *work->status();
        if (!status.ok() && (first.ok() || (first.rank < 0 && status.rank >= 0))) first = status;
    }
    return first;
}

void DeviceRanks::destroy(int64_t leave_ms) noexcept {
    std::vector<std::thread> threads;
    for (const auto& group : mine_) {
        const auto end = [group, leave_ms] {
            try {
                group->destroy(leave_ms);
            } catch (const Error&) {  // it has been
            }
        };
        try {
            threads.push_back(start_thread("tutti-devices", end));
        } catch (const Error&) {
            end();
        }
    }
    for (std::thread& thread : threads) thread.join();
}

}  // namespace tutti
