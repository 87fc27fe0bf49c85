// Reduces a bucket whose gradients are there: all_reduce and division, the same in fewer
// bytes, or a function of the program. On the reducer's thread, but for the making.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "bucket_layout.hpp"
#include "gradients.hpp"
#include "group/group.hpp"
#include "parameter.hpp"
#include "shared_memory.hpp"

namespace tutti {

class BucketReduction {
public:
    virtual ~BucketReduction() = default;
    // In place; with a stream the result is on it. Throws what calls of the group throw.
    virtual void run(const GradientBucket& bucket) = 0;
    // "allreduce_hook": as torch's logs call it.
    [[nodiscard]] virtual const char* name() const = 0;
    // Bytes that this rank has given to collectives.
    [[nodiscard]] virtual int64_t communicated() const { return communicated_; }

protected:
    void count(const View& sent) { communicated_ += static_cast<int64_t>(sent.size()); }

private:
    std::atomic<int64_t> communicated_{0};
};

// The sum or mean over the ranks, with a division before it if options say so.
class Averaging {
public:
    explicit Averaging(const ReducerOptions& options, int ranks);
    void run(Group& group, const View& numbers) const;
    // On its stream, if options ask for no division before.
    void run_on_stream(Group& group, const GradientBucket& bucket) const;

private:
    ReduceOp op_;
    ReduceOp rest_ = TUTTI_SUM;  // what remains to be multiplied afterwards
    bool has_rest_ = false;
};

class AllReducing final : public BucketReduction {
public:
    AllReducing(std::shared_ptr<Group> group, const ReducerOptions& options);
    void run(const GradientBucket& bucket) override;
    [[nodiscard]] const char* name() const override { return "allreduce_hook"; }

private:
    const std::shared_ptr<Group> group_;
    const Averaging averaging_;
};

// All ranks make it.
class ShortFloats final : public BucketReduction {
public:
    // `most`: floats of the largest bucket.
    ShortFloats(std::shared_ptr<Group> group, const ReducerOptions& options, tutti_dtype dtype,
                int64_t most);
    void run(const GradientBucket& bucket) override;
    [[nodiscard]] const char* name() const override {
        return dtype_ == TUTTI_FLOAT16 ? "fp16_compress_hook" : "bf16_compress_hook";
    }

private:
    const std::shared_ptr<Group> group_;
    const Averaging averaging_;
    const tutti_dtype dtype_;
    const SharedMemory memory_;
};

// Reduces a copy on the CPU of a bucket that is on a device, for what needs the CPU.
class ThroughCpu final : public BucketReduction {
public:
    // Waits for the device; throws when there is no use in that.
    using Await = std::function<void(const device::EventPointer&)>;
    ThroughCpu(std::unique_ptr<BucketReduction> reduction, const Gradients& gradients, Await await);
    void run(const GradientBucket& bucket) override;
    [[nodiscard]] const char* name() const override { return reduction_->name(); }
    [[nodiscard]] int64_t communicated() const override { return reduction_->communicated(); }

private:
    const std::unique_ptr<BucketReduction> reduction_;
    const Gradients& gradients_;
    const Await await_;
    device::Pinned memory_;
};

// A function of the program; throws what shall fail the reducer.
class Hooked final : public BucketReduction {
public:
    using Hook = std::function<void(const std::shared_ptr<Group>&, const GradientBucket&)>;
    Hooked(std::shared_ptr<Group> group, Hook hook)
        : group_(std::move(group)), hook_(std::move(hook)) {}
    void run(const GradientBucket& bucket) override { hook_(group_, bucket); }
    [[nodiscard]] const char* name() const override { return "hook"; }

private:
    const std::shared_ptr<Group> group_;
    const Hook hook_;
};

}  // namespace tutti
