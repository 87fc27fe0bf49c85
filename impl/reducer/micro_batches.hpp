// The gradients of passes that were not synchronised, kept apart until one is: the exact sum of all
// is rounded once, so it does not matter which rank had which. One thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "bucket_reduction.hpp"

namespace tutti {

class MicroBatches final : public BucketReduction {
public:
    // For gradients in `size` bytes at `memory`, whose buckets may move. All ranks make it.
    MicroBatches(std::shared_ptr<Group> group, const ReducerOptions& options, std::byte* memory,
                 size_t size);

    [[nodiscard]] size_t kept() const { return kept_; }
    [[nodiscard]] bool is_full() const { return kept_ == batches_.size(); }
    // Takes the gradients over and leaves zeros. Not if it is full.
    void keep();
    void forget() { kept_ = 0; }

    void run(const GradientBucket& bucket) override;
    [[nodiscard]] const char* name() const override { return "allreduce_hook"; }

private:
    const std::shared_ptr<Group> group_;
    const tutti_reduce_op op_;
    std::byte* const memory_;
    const size_t size_;
    std::vector<std::unique_ptr<SharedMemory>> batches_;
    size_t kept_ = 0;
};

}  // namespace tutti
