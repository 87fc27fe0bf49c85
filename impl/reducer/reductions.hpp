// The way in which a reducer reduces its buckets, and the making of others. It changes between
// passes alone, with the reducer's lock; the thread that reduces uses it within a pass.
#pragma once

#include <memory>

#include "bucket_reduction.hpp"
#include "buckets.hpp"
#include "device_end.hpp"
#include "micro_batches.hpp"
#include "model.hpp"
#include "power_sgd.hpp"

namespace tutti {

class Reductions {
public:
    // An all_reduce, or exact sums if options ask for them. All ranks make it.
    Reductions(const ReducerModel& model, Buckets& buckets, const DeviceWaits& waits);

    [[nodiscard]] BucketReduction& current() { return *current_; }
    [[nodiscard]] const BucketReduction& current() const { return *current_; }
    // The current way, if gradients are kept apart for exact sums; else null.
    [[nodiscard]] MicroBatches* micro_batches() const { return micro_batches_; }
    // Bytes that this rank has given to collectives, in all ways so far.
    [[nodiscard]] int64_t communicated() const {
        return communicated_before_ + current_->communicated();
    }

    // These make others. All ranks call them but the first two; they throw what calls of the group
    // throw.
    [[nodiscard]] std::unique_ptr<BucketReduction> all_reducing() const;
    // An empty hook: as all_reducing().
    [[nodiscard]] std::unique_ptr<BucketReduction> hooked(Hooked::Hook hook) const;
    [[nodiscard]] std::unique_ptr<BucketReduction> compressing(Compression compression) const;
    [[nodiscard]] std::unique_ptr<BucketReduction> power_sgd(
        const PowerSgdOptions& options, const std::atomic<uint8_t>* used) const;
    // Takes the place of the current one, which is returned.
    [[nodiscard]] std::unique_ptr<BucketReduction> use(std::unique_ptr<BucketReduction> next);

private:
    // One that needs the CPU.
    [[nodiscard]] std::unique_ptr<BucketReduction> on_cpu(
        std::unique_ptr<BucketReduction> reduction) const;

    const ReducerModel& model_;
    const Gradients& memory_;
    const DeviceWaits& waits_;
    std::unique_ptr<BucketReduction> current_;
    MicroBatches* micro_batches_ = nullptr;
    int64_t communicated_before_ = 0;
};

}  // namespace tutti
