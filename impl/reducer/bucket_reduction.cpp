#include "bucket_reduction.hpp"

#include "reduce/reduce.hpp"
#include "short_floats.hpp"

namespace tutti {

namespace {

ReduceOp times(double factor) {
    const tutti_reduce_op number = ReduceOp::make(Factor(&factor, TUTTI_FLOAT64));
    ReduceOp op(number);  // keeps it
    ReduceOp::release(number);
    return op;
}

}  // namespace

Averaging::Averaging(const ReducerOptions& options, int ranks)
    : op_(options.sum ? TUTTI_SUM : TUTTI_AVG) {
    if (options.predivide == 1) return;
    op_ = times(1 / options.predivide);
    rest_ = times(options.predivide / (options.sum ? 1 : ranks));
    has_rest_ = true;
}

void Averaging::run(Group& group, const View& numbers) const {
    if (numbers.count == 0) return;
    group.run(AllReduce{numbers, numbers, op_}, 0);
    if (!has_rest_) return;
    begin_reduction(numbers.data, numbers.data, static_cast<size_t>(numbers.count), numbers.dtype,
                    rest_);
}

void Averaging::run_on_stream(Group& group, const GradientBucket& bucket) const {
    const View& numbers = bucket.gradients;
    if (numbers.count == 0) return;
    auto call = group.start(AllReduce{numbers, numbers, op_}, {0, bucket.stream});
    hold(*call, bucket.stream);
    bucket.calls->push_back(std::move(call));
}

AllReducing::AllReducing(std::shared_ptr<Group> group, const ReducerOptions& options)
    : group_(std::move(group)), averaging_(options, group_->size()) {}

void AllReducing::run(const GradientBucket& bucket) {
    if (bucket.stream == nullptr) {
        averaging_.run(*group_, bucket.gradients);
    } else {
        averaging_.run_on_stream(*group_, bucket);
    }
    count(bucket.gradients);
}

ShortFloats::ShortFloats(std::shared_ptr<Group> group, const ReducerOptions& options,
                         tutti_dtype dtype, int64_t most)
    : group_(std::move(group)),
      averaging_(options, group_->size()),
      dtype_(dtype),
      memory_(*group_, static_cast<size_t>(most) * element_size(dtype)) {}

void ShortFloats::run(const GradientBucket& bucket) {
    const View& gradients = bucket.gradients;
    const bool is_compressed = is_shortened(gradients.dtype);
    const View sent =
        is_compressed ? View{memory_.data(), floats_of(gradients), dtype_} : gradients;
    if (is_compressed) shorten(sent, gradients);
    averaging_.run(*group_, sent);
    if (is_compressed) lengthen(gradients, sent);
    count(sent);
}

ThroughCpu::ThroughCpu(std::unique_ptr<BucketReduction> reduction, const Gradients& gradients,
                       Await await)
    : reduction_(std::move(reduction)), gradients_(gradients), await_(std::move(await)) {}

void ThroughCpu::run(const GradientBucket& bucket) {
    const View& gradients = bucket.gradients;
    if (memory_.size() < gradients.size()) {
        memory_ = {};
        memory_ = gradients_.take_pinned(gradients.size());
    }
    GradientBucket copied = bucket;
    copied.gradients = {memory_.data(), gradients.count, gradients.dtype};
    copied.stream = nullptr;
    gradients_.give(copied.gradients, gradients);
    memory_.used_until(gradients_.end());
    await_(memory_.last_use());
    reduction_->run(copied);
    gradients_.give(gradients, copied.gradients);
    memory_.used_until(gradients_.end());
}

}  // namespace tutti
