#include "device_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "base/thread.hpp"

namespace tutti {

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
