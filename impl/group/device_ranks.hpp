// The calls on a list of buffers, one on each device of this rank: for them this rank is several
// ranks, one for each device, of a group that the first such call makes. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "call/call.hpp"
#include "group.hpp"
#include "work/work.hpp"

namespace tutti {

class DeviceRanks {
public:
    // `label`: of the group whose rank they are; `mine`: a group for each of the devices.
    DeviceRanks(std::string label, std::vector<Device> devices,
                std::vector<std::shared_ptr<Group>> mine)
        : label_(std::move(label)), devices_(std::move(devices)), mine_(std::move(mine)) {}

    [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }

    // Throws INVALID_ARGUMENT, naming one of `buffers` or the device, for what is wrong with one of
    // the calls.
    template <IsCollective Call>
    static void check_calls(const Group& group, const char* buffers,
                            const std::vector<Device>& devices, const std::vector<Call>& calls) {
        check_devices(devices, buffers);
        check_each(group, devices,
                   [&](int rank, int size, size_t index) { check(calls[index], rank, size); });
    }

    // One checked call for each device, in their order. Buffers are borrowed until the end of all,
    // or of the work.
    template <IsCollective Call>
    void run(const char* function, std::vector<Call> calls, int64_t timeout_ms) {
        wait(function, start_all(function, std::move(calls), timeout_ms));
    }
    template <IsCollective Call>
    std::shared_ptr<Work> start(const char* function, std::vector<Call> calls, int64_t timeout_ms) {
        return join(function, start_all(function, std::move(calls), timeout_ms));
    }

    // The failure of a rank's device as one of the rank.
    static Status in_ranks(Status status, const std::string& context, size_t devices);

    // Ends the groups; once.
    void destroy(int64_t leave_ms) noexcept;

private:
    using Works = std::vector<std::shared_ptr<Work>>;

    template <IsCollective Call>
    Works start_all(const char* function, std::vector<Call> calls, int64_t timeout_ms) {
        // A post may wait until the other ranks post, too: NCCL's does while it makes connections.
        Terms terms(timeout_ms);
        terms.may_post_here = false;
        return start_all(function, [&](Group& group, size_t index) {
            return group.start(std::move(calls[index]), terms);
        });
    }
    static void check_devices(const std::vector<Device>& devices, const char* buffers);
    static void check_each(const Group& group, const std::vector<Device>& devices,
                           const std::function<void(int, int, size_t)>& check);
    Works start_all(const char* function,
                    const std::function<std::shared_ptr<Work>(Group&, size_t)>& start);
    void wait(const char* function, const Works& works) const;
    [[nodiscard]] std::shared_ptr<Work> join(const char* function, const Works& works) const;
    static Status first_failure(const Works& works);
    [[nodiscard]] std::string context(const char* function) const {
        return cat(function, " on ", label_);
    }

    const std::string label_;
    const std::vector<Device> devices_;
    const std::vector<std::shared_ptr<Group>> mine_;
    Mutex starting_;  // so that all devices have their calls in one order
};

}  // namespace tutti
