// Gradients as 8-bit numbers between the least and the greatest of a bucket: torch's
// quantization_pertensor_hook. On the reducer's thread, but for the making.
#pragma once

#include <memory>

#include "bucket_reduction.hpp"

namespace tutti {

class Quantised final : public BucketReduction {
public:
    // `most`: floats of the largest bucket. All ranks make it.
    Quantised(std::shared_ptr<Group> group, const ReducerOptions& options, int64_t most);
    void run(const GradientBucket& bucket) override;
    [[nodiscard]] const char* name() const override { return "quantization_pertensor_hook"; }

private:
    struct Scale {
        double step;
        double least;
    };
    void exchange(int64_t count, const Scale& own);

    const std::shared_ptr<Group> group_;
    const Averaging averaging_;  // of what is not quantised
    const bool adds_;            // sums, not means
    const SharedMemory own_;
    const SharedMemory all_;
    std::vector<Scale> scales_;  // by rank
};

}  // namespace tutti
