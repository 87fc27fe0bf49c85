#include "buckets.hpp"

#include <utility>

namespace tutti {

namespace {

constexpr size_t max_alignment = 64;  // of each bucket, of which there may be one a parameter

size_t memory_for(const Parameters& parameters) {
    size_t size = 0;
    for (const Parameter& one : parameters) size += one.size() + max_alignment;
    return size;
}

std::vector<int64_t> sizes_of(const BucketLayout& layout) {
    std::vector<int64_t> sizes;
    for (const BucketLayout::Bucket& one : layout.buckets()) {
        sizes.push_back(static_cast<int64_t>(one.size()));
    }
    return sizes;
}

std::unique_ptr<const BucketLayout> lay_out(const ReducerModel& model,
                                            std::span<const size_t> order) {
    const BucketCaps caps{model.options.first_bucket_cap, model.options.bucket_cap};
    return std::make_unique<const BucketLayout>(model.parameters,
                                                assign_buckets(model.parameters, order, caps));
}

}  // namespace

Buckets::Buckets(const ReducerModel& model)
    : model_(model),
      memory_(*model.group, model.parameters.front().device, memory_for(model.parameters),
              model.options.stream),
      layout_(lay_out(model, model.order)),
      first_sizes_(sizes_of(*layout_)) {}

size_t Buckets::memory_size() const {
    return memory_for(model_.parameters);
}

GradientBucket Buckets::bucket(size_t index) const {
    return {&layout_->buckets()[index], layout_->bucket(index, memory_.data()), index, count(),
            memory_.stream()};
}

void Buckets::start_over() {
    memory_.start_over();
    layout_ = lay_out(model_, model_.order);
    rebuilt_sizes_.clear();
    ++generation_;
}

void Buckets::rebuild(std::span<const size_t> order) {
    auto next = lay_out(model_, order);
    if (!next->same_buckets(*layout_)) move_to(std::move(next));
    rebuilt_sizes_ = sizes_of(*layout_);
}

void Buckets::move_to(std::unique_ptr<const BucketLayout> next) {
    const auto place = [&](const View& of) {
        return static_cast<size_t>(of.bytes().data() - memory_.data());
    };
    std::vector<Gradients::Move> moves;
    for (size_t i = 0; i < model_.size(); ++i) {
        const View from = place_of(i);
        const View to = next->gradient(i, model_.parameters[i].count, memory_.data());
        if (from.count > 0) moves.push_back({place(from), place(to), from.size()});
    }
    memory_.move(moves, layout_->size());
    layout_ = std::move(next);
    ++generation_;
}

}  // namespace tutti
