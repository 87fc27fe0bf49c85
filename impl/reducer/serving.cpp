// The reducer's thread: bucket after bucket of a pass, and what follows the last one. Holds no lock
// while it communicates.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "reducer.hpp"

namespace tutti {

bool Reducer::has_job() const {
    return is_reducing_ && failure_.ok() && launched_ < layout_->buckets().size() &&
           pending_[launched_] == 0;
}

void Reducer::serve() noexcept {
    Lock lock(mutex_);
    for (;;) {
        while (!stopping_ && !has_job()) changed_.wait(lock);
        if (stopping_) return;
        const size_t index = launched_;
        const bool is_last = index + 1 == layout_->buckets().size();
        timing_.begin_bucket(index);
        lock.unlock();
        try {
            reduce(index);
            if (is_last) exchange_arrivals();
        } catch (...) {
            fail(current_status());
            lock.lock();
            continue;
        }
        lock.lock();
        gradient_bytes_ += static_cast<int64_t>(layout_->buckets()[index].size());
        launched_ = index + 1;
        reduced_ = index + 1;
        std::shared_ptr<Work> work;
        if (is_last) {
            end_buckets();
            work = std::exchange(work_, nullptr);
        }
        changed_.notify_all();
        if (!work) continue;
        lock.unlock();
        work->finish({});
        work.reset();
        lock.lock();
    }
}

void Reducer::reduce(size_t index) {
    const GradientBucket bucket = make_bucket(index);
    exchange_used(*bucket.layout);
    reduction_->run(bucket);
    give_own(*bucket.layout);
}

// Without a static graph's knowledge a byte for each parameter, or'ed over the ranks; parameters
// that must be used are.
void Reducer::exchange_used(const BucketLayout::Bucket& bucket) {
    const bool knows = options_.static_graph ? is_counting_ : !options_.finds_unused();
    if (knows && options_.static_graph) return;
    std::vector<uint8_t> used;
    for (const int64_t one : bucket.parameters) {
        used.push_back(knows || slots_[static_cast<size_t>(one)].has_gradient ? 1 : 0);
    }
    if (!knows) {
        const View view{used.data(), static_cast<int64_t>(used.size()), TUTTI_UINT8};
        group_->run(AllReduce{view, view, TUTTI_BOR}, 0);
    }
    for (size_t i = 0; i < used.size(); ++i) {
        used_[static_cast<size_t>(bucket.parameters[i])] = used[i];
    }
}

void Reducer::give_own(const BucketLayout::Bucket& bucket) {
    for (const int64_t one : bucket.parameters) {
        const auto parameter = static_cast<size_t>(one);
        const View& own = slots_[parameter].own;
        if (own.data == nullptr || own.count == 0 || used_[parameter] == 0) continue;
        std::memcpy(own.data, place_of(parameter).data, own.size());
    }
}

// After the first pass that is synchronised: all ranks will have the buckets that rank 0's order
// gives. Parameters without a mark come last.
void Reducer::exchange_arrivals() {
    if (!notes_arrivals_) return;
    std::vector<int64_t> order(arrivals_.begin(),
                               arrivals_.begin() + static_cast<ptrdiff_t>(arrival_count_));
    for (size_t i = 0; i < parameters_.size(); ++i) {
        if (slots_[i].marks == 0) order.push_back(static_cast<int64_t>(i));
    }
    group_->run(Broadcast{{order.data(), static_cast<int64_t>(order.size()), TUTTI_INT64}, 0}, 0);
    const Lock lock(mutex_);
    new_order_.assign(order.begin(), order.end());
}

void Reducer::end_buckets() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
        slots_[i].has_gradient = false;
        slots_[i].own = {};
    }
    if (micro_batches_ != nullptr) micro_batches_->forget();
    timing_.end_buckets();
    is_reducing_ = false;
    if (!is_in_pass_) pass_is_over();
}

// The last bucket is reduced, and the program has ended the pass.
void Reducer::pass_is_over() {
    ++passes_;
    timing_.add_pass();
    log_pass();
}

void Reducer::fail(Status status) noexcept {
    group_->abandon(status);  // unless it has failed itself
    std::shared_ptr<Work> work;
    {
        const Lock lock(mutex_);
        if (failure_.ok()) failure_ = status;
        is_open_ = false;
        is_reducing_ = false;
        work = std::exchange(work_, nullptr);
        changed_.notify_all();
    }
    if (work) work->finish(std::move(status));
}

}  // namespace tutti
