#include "device_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "in_flight.hpp"

namespace tutti {

namespace {

std::string text_of(const std::vector<Device>& devices) {
    std::string text;
    for (const Device& device : devices) text += cat(text.empty() ? "" : ", ", describe(device));
    return text;
}

}  // namespace

std::shared_ptr<DeviceRanks> Group::device_ranks(const char* function, const char* buffers,
                                                 const std::vector<Device>& devices,
                                                 int64_t timeout_ms) {
    for (const Device& device : devices) check_bound(device, "the buffers are on");
    const Lock opening(device_ranks_opening_);
    {
        const InFlight entry(*this, function);
        const Lock lock(mutex_);
        if (device_ranks_) {
            if (device_ranks_->devices() == devices) return device_ranks_;
            refuse(buffers, " are on ", text_of(devices), ", but the first such call on ", label(),
                   " had ", text_of(device_ranks_->devices()), "; all must have the same");
        }
    }
    const auto opened = std::make_shared<DeviceRanks>(
        *this, devices, open_device_ranks(function, devices, timeout_ms));
    {
        const Lock lock(mutex_);
        if (!destroyed_) return device_ranks_ = opened;
    }
    opened->destroy(0);
    throw Error(TUTTI_ERR_ABORTED, cat(function, " on ", label(), ": it was destroyed meanwhile"));
}

// They meet as any ranks do, in the store where this group's have met.
std::vector<std::shared_ptr<Group>> Group::open_device_ranks(const char* function,
                                                             const std::vector<Device>& devices,
                                                             int64_t timeout_ms) {
    const size_t count = devices.size();
    const auto most = static_cast<size_t>(max_ranks / size_);
    if (count > most) refuse("there are ", count, " buffers; each rank can have ", most);
    GroupOptions options;
    {
        const InFlight entry(*this, function);
        if (!store_) refuse("group has no store, where its devices could meet");
        options.store = make_prefix_store(
            cat("devices/", membership_->group_id(), ".", device_ranks_tries_), store_);
    }
    SplitOptions agreed;
    agreed.function = function;
    agreed.timeout_ms = timeout_ms;
    agreed.arguments = {cat("buffers on ", count, count == 1 ? " device" : " devices")};
    compare(agreed);
    ++device_ranks_tries_;  // on all ranks
    options.map = backend_map_;
    options.size = size_ * static_cast<int>(count);
    options.name = cat(name_, " by device");
    options.timeout_ms = effective_timeout(timeout_ms);
    options.reproducible = reproducible_;
    std::vector<std::shared_ptr<Group>> groups(count);
    std::vector<Status> failures(count);
    const auto open = [&](size_t index) {
        try {
            GroupOptions own = options;
            own.rank = rank_ * static_cast<int>(count) + static_cast<int>(index);
            own.bound = devices[index];
            groups[index] = create(own);
        } catch (...) {
            failures[index] = current_status();
        }
    };
    std::vector<std::thread> threads;
    try {
        for (size_t index = 1; index < count; ++index) {
            threads.push_back(start_thread("tutti-devices", [&open, index] { open(index); }));
        }
        open(0);
    } catch (...) {
        failures[0] = current_status();  // the others wait for this one until the timeout
        failures[0].rank = rank_ * static_cast<int>(count);
    }
    for (std::thread& thread : threads) thread.join();
    // A device that waited for one that failed tells of a timeout only.
    auto failed = std::ranges::find_if(
        failures, [](const Status& one) { return !one.ok() && one.code != TUTTI_ERR_TIMEOUT; });
    if (failed == failures.end()) {
        failed = std::ranges::find_if(failures, [](const Status& one) { return !one.ok(); });
    }
    if (failed == failures.end()) return groups;
    throw Error(DeviceRanks::in_ranks(*failed, cat(function, " on ", label()), count));
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
        if (!works.empty()) {
            Status cause = status;
            if (cause.rank < 0) cause.rank = mine_[works.size()]->rank();
            cause.message = cat("rank ", cause.rank, " gave up: ", status.message);
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
    auto all = std::make_shared<Work>(nullptr, function);
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
