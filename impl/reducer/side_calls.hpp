// Calls about a few numbers on the CPU, beside those of the buckets. They go over the device if the
// group has no backend for the CPU. The reducer's thread.
#pragma once

#include "device_end.hpp"
#include "gradients.hpp"
#include "model.hpp"

namespace tutti {

class SideCalls {
public:
    SideCalls(const ReducerModel& model, Gradients& memory, const DeviceWaits& waits)
        : model_(model), memory_(memory), waits_(waits) {}

    // In place. Both throw what calls of the group throw.
    void max(const View& numbers) const;
    void broadcast(const View& numbers) const;  // from rank 0

private:
    template <typename Make>
    void run(const View& numbers, Make&& make) const;

    const ReducerModel& model_;
    Gradients& memory_;
    const DeviceWaits& waits_;
};

}  // namespace tutti
