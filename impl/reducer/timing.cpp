#include "timing.hpp"

#include <algorithm>

namespace tutti {

void Timing::begin_backward() {
    began_ = Clock::now();
    has_forward_ = forward_.has_value();
    if (has_forward_) this_forward_ = began_ - *forward_;
    forward_.reset();
}

void Timing::add_pass() {
    ++passes_;
    backward_sum_ += finished_ - began_;
    communication_sum_ += reduced_ - first_bucket_;
    overlap_sum_ += std::max(Time{}, Time(std::min(finished_, reduced_) - first_bucket_));
    if (!has_forward_) return;
    ++forwards_;
    forward_sum_ += this_forward_;
}

MeanTimes Timing::means() const {
    const auto mean = [](Time sum, int64_t number) {
        return number == 0 ? 0 : sum.count() / number;
    };
    return {mean(forward_sum_, forwards_), mean(backward_sum_, passes_),
            mean(communication_sum_, passes_), mean(overlap_sum_, passes_)};
}

}  // namespace tutti
