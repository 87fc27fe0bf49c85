// Gradients as products of two factors with few columns: torch's powerSGD_hook. On the reducer's
// thread, but for the making. What it keeps belongs to parameters, so buckets may change.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "bucket_reduction.hpp"
#include "low_rank.hpp"

namespace tutti {

struct PowerSgdOptions {
    bool error_feedback = true;
    bool warm_start = true;
    size_t start_iteration = 1000;  // passes before it are all_reduced
    size_t rank = 1;
    double min_compression_rate = 2;
    double orthogonalization_epsilon = 0;
    uint64_t seed = 0;
    std::vector<int64_t> rows{};  // by parameter; 0: it is no matrix
};

// Throws INVALID_ARGUMENT for options that cannot be.
void check_power_sgd(const Parameters& parameters, const PowerSgdOptions& options);

class PowerSgd final : public BucketReduction {
public:
    // All ranks make it, with the same options. `used` says of each parameter whether a rank has a
    // gradient in this pass, and lives longer. `iteration`, the synchronised passes so far, lives
    // longer, too; ranks go on with the highest of all.
    PowerSgd(std::shared_ptr<Group> group, const ReducerOptions& reducer,
             const PowerSgdOptions& options, const Parameters& parameters,
             const std::atomic<uint8_t>* used, std::shared_ptr<size_t> iteration);
    void run(const GradientBucket& bucket) override;
    [[nodiscard]] const char* name() const override { return "powerSGD_hook"; }

private:
    // A parameter. Without rank it is not compressed.
    struct State {
        size_t rows = 0, columns = 0, rank = 0;
        std::vector<std::byte> q;      // of the pass before; zeros: none
        std::vector<std::byte> error;  // what earlier passes have left out
    };
    template <typename Number>
    struct Part;
    template <typename Number>
    struct Parts;

    template <typename Number>
    void compress(const GradientBucket& bucket);
    template <typename Number>
    Parts<Number> divide(const GradientBucket& bucket);
    template <typename Number>
    void project(const Part<Number>& part, size_t parameter);
    template <typename Number>
    void restore(const Part<Number>& part);

    const std::shared_ptr<Group> group_;
    const PowerSgdOptions options_;
    const Averaging averaging_;  // of what is not compressed
    const bool adds_;            // sums, not means
    const std::atomic<uint8_t>* const used_;
    std::vector<State> states_;  // by parameter
    std::unique_ptr<SharedMemory> memory_;
    const std::shared_ptr<size_t> iteration_;
};

}  // namespace tutti
