// The end of calls on a device, in the order of the reducer's stream, and waiting for it on behalf
// of a reducer that may be released meanwhile. On the CPU nothing is left to wait for. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device/driver.hpp"
#include "gradients.hpp"
#include "model.hpp"
#include "work/work.hpp"

namespace tutti {

struct DeviceEnd {
    device::EventPointer event;  // null: there is nothing to wait for
    std::vector<std::shared_ptr<Work>> calls;
};

class DeviceWaits {
public:
    DeviceWaits(const ReducerModel& model, const Gradients& memory)
        : model_(model), memory_(memory) {}

    // The reducer is released: all waits end.
    void stop() noexcept { is_stopping_ = true; }
    // Throws why the results will not be there.
    void check(const DeviceEnd& end) const;
    // Returns when the device has come so far. Throws as check() does.
    void await(const DeviceEnd& end) const;
    // Finishes the work of a pass whose buckets are reduced, or will be by the device: when that
    // has come to the end and all calls have ended well, or as soon as one has failed.
    void finish_at(const DeviceEnd& end, const std::shared_ptr<Work>& work) const noexcept;

private:
    const ReducerModel& model_;
    const Gradients& memory_;
    std::atomic<bool> is_stopping_{false};
};

}  // namespace tutti
