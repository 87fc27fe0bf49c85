// The way in which a reducer reduces its buckets, and the making of others. It changes between
// passes alone, with the reducer's lock; the thread that reduces uses it within a pass.
#pragma once

#include <functional>
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
    Reductions(const ReducerModel& model, const Buckets& buckets, const DeviceWaits& waits);

    [[nodiscard]] BucketReduction& current() { return *current_; }
    [[nodiscard]] const BucketReduction& current() const { return *current_; }
    // The current way, if gradients are kept apart for exact sums; else null.
    [[nodiscard]] MicroBatches* micro_batches() const { return micro_batches_; }
    // Bytes that this rank has given to collectives, in all ways so far.
    [[nodiscard]] int64_t communicated() const {
        return communicated_before_ + current_->communicated();
    }

    // Makes a way for the group that the reducer has then, and is kept for the next group. All
    // ranks call it but for the first two; it throws what calls of the group throw.
    using Make = std::function<std::unique_ptr<BucketReduction>()>;
    [[nodiscard]] Make all_reducing();
    // An empty hook: as all_reducing().
    [[nodiscard]] Make hooked(Hooked::Hook hook);
    [[nodiscard]] Make compressing(Compression compression);
    // Throws MISMATCH, on all ranks, if their options differ.
    [[nodiscard]] Make power_sgd(const PowerSgdOptions& options, const std::atomic<uint8_t>* used);
    // The one of the current way.
    [[nodiscard]] const Make& make() const { return make_; }
    struct Way {
        Make make;
        std::unique_ptr<BucketReduction> made;
    };
    // Takes the place of the current one, which is returned.
    [[nodiscard]] Way use(Way next);

private:
    [[nodiscard]] Make keeping_micro_batches();
    // One that needs the CPU.
    [[nodiscard]] std::unique_ptr<BucketReduction> on_cpu(
        std::unique_ptr<BucketReduction> reduction) const;

    const ReducerModel& model_;
    const Gradients& memory_;
    const size_t memory_size_;
    const DeviceWaits& waits_;
    Make make_;
    std::unique_ptr<BucketReduction> current_;
    MicroBatches* micro_batches_ = nullptr;
    int64_t communicated_before_ = 0;
};

}  // namespace tutti
