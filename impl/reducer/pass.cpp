#include "pass.hpp"

#include <utility>

namespace tutti {

Pass::Pass(size_t parameters, const ReducerOptions& options)
    : count_(parameters),
      is_static_(options.static_graph),
      finds_unused_(options.finds_unused()),
      rebuilds_(options.rebuilds()),
      slots_(std::make_unique<Slot[]>(parameters)),
      used_(std::make_unique<std::atomic<uint8_t>[]>(parameters)),
      pending_(std::make_unique<std::atomic<int64_t>[]>(parameters)),
      arrivals_(parameters) {
    start_over();
}

void Pass::start_over() {
    has_learned_ = false;
    forget_gradients();
    for (size_t i = 0; i < count_; ++i) {
        slots_[i].expected = is_static_ ? any_number : 1;
        used_[i] = 0;
    }
}

void Pass::prepare(bool synchronise, bool is_first, const BucketLayout& layout) {
    synchronises_ = synchronise;
    is_counting_ = synchronise && (!is_static_ || has_learned_);
    notes_arrivals_ = synchronise && rebuilds_ && is_first;
    arrival_count_ = 0;
    const auto& buckets = layout.buckets();
    for (size_t i = 0; i < buckets.size(); ++i) {
        pending_[i] = static_cast<int64_t>(buckets[i].parameters.size());
    }
    for (size_t i = 0; i < count_; ++i) slots_[i].marks.store(0, std::memory_order_relaxed);
}

bool Pass::begin_to_learn() {
    return !std::exchange(has_learned_, true) && is_static_;
}

Pass::Found Pass::settle(size_t parameter, bool learns) {
    Slot& slot = slots_[parameter];
    uint32_t marks = slot.marks;
    if (learns) {
        slot.expected = marks;
        return marks == 0 ? Found::Unused : Found::Learned;
    }
    if (marks >= slot.expected) return Found::Enough;
    if (!finds_unused_) return Found::Missing;
    return slot.marks.compare_exchange_strong(marks, 1) ? Found::Unused : Found::Enough;
}

std::vector<int64_t> Pass::arrival_order() const {
    const auto end = arrivals_.begin() + static_cast<ptrdiff_t>(arrival_count_);
    std::vector<int64_t> order(arrivals_.begin(), end);
    for (size_t i = 0; i < count_; ++i) {
        if (slots_[i].marks == 0) order.push_back(static_cast<int64_t>(i));
    }
    return order;
}

void Pass::forget_gradients() {
    for (size_t i = 0; i < count_; ++i) {
        slots_[i].has_gradient = false;
        slots_[i].own = {};
    }
}

}  // namespace tutti
