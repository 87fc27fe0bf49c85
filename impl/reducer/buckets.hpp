// The buckets of a reducer: which parameters share one, where its gradients are, and how the order
// of arrival changes that. Changes between passes alone, with the reducer's lock; any thread reads
// it within a pass.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bucket_layout.hpp"
#include "gradients.hpp"
#include "model.hpp"

namespace tutti {

class Buckets {
public:
    // All ranks make it: it has memory that they share.
    explicit Buckets(const ReducerModel& model);

    [[nodiscard]] Gradients& memory() { return memory_; }
    [[nodiscard]] const Gradients& memory() const { return memory_; }
    [[nodiscard]] size_t memory_size() const;  // bytes

    [[nodiscard]] const BucketLayout& layout() const { return *layout_; }
    [[nodiscard]] size_t count() const { return layout_->buckets().size(); }
    // The bucket of a parameter, and where its gradient is.
    [[nodiscard]] size_t index_of(size_t parameter) const {
        return layout_->place_of(parameter).bucket;
    }
    [[nodiscard]] View place_of(size_t parameter) const {
        return layout_->gradient(parameter, model_.parameters[parameter].count, memory_.data());
    }
    // Takes an index that there is.
    [[nodiscard]] GradientBucket bucket(size_t index) const;

    // Lays the buckets out anew, in the same memory, so that no rank has to wait for another.
    void rebuild(std::span<const size_t> order);
    // As they were at first, after Gradients::make_next().
    void start_over();
    // Counts how often gradients have moved. Any thread.
    [[nodiscard]] int64_t generation() const { return generation_; }
    // Bytes of each bucket, at first and after rebuild(); empty: there was none.
    [[nodiscard]] const std::vector<int64_t>& first_sizes() const { return first_sizes_; }
    [[nodiscard]] const std::vector<int64_t>& rebuilt_sizes() const { return rebuilt_sizes_; }

private:
    void move_to(std::unique_ptr<const BucketLayout> next);

    const ReducerModel& model_;
    Gradients memory_;
    std::unique_ptr<const BucketLayout> layout_;
    std::vector<int64_t> first_sizes_, rebuilt_sizes_;
    std::atomic<int64_t> generation_{0};
};

}  // namespace tutti
