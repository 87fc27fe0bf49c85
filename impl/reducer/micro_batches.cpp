#include "micro_batches.hpp"

#include <cstring>

namespace tutti {

MicroBatches::MicroBatches(std::shared_ptr<Group> group, const ReducerOptions& options,
                           std::byte* memory, size_t size)
    : group_(std::move(group)),
      op_(options.sum ? TUTTI_SUM : TUTTI_AVG),
      memory_(memory),
      size_(size) {
    for (size_t i = 0; i < options.keep_micro_batches; ++i) {
        batches_.push_back(std::make_unique<SharedMemory>(*group_, size));
    }
}

void MicroBatches::keep() {
    std::memcpy(batches_[kept_]->data(), memory_, size_);
    std::memset(memory_, 0, size_);
    ++kept_;
}

void MicroBatches::run(const GradientBucket& bucket) {
    const View& gradients = bucket.gradients;
    if (gradients.count == 0) return;
    const auto place = gradients.bytes().data() - memory_;
    AllReduceAddends call{{gradients}, gradients, op_};
    for (size_t i = 0; i < kept_; ++i) {
        call.inputs.emplace_back(batches_[i]->data() + place, gradients.count, gradients.dtype);
    }
    group_->run(std::move(call), 0);
    count(gradients);
}

}  // namespace tutti
