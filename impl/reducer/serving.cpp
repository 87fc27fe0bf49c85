// The reducer's thread: bucket after bucket of a pass, and what follows the last one. Holds no lock
// while it communicates.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "device/watcher.hpp"
#include "reducer.hpp"

namespace tutti {

bool Reducer::has_job() const {
    if (!is_reducing_ || !failure_.ok() || launched_ == layout_->buckets().size()) return false;
    return pending_[launched_] == 0 && (!gradients_.is_on_device() || ready_[launched_]);
}

void Reducer::serve() noexcept {
    Lock lock(mutex_);
    for (;;) {
        while (!stopping_ && !has_job()) changed_.wait(lock);
        if (stopping_) return;
        const size_t index = launched_;
        const bool is_last = index + 1 == layout_->buckets().size();
        const device::EventPointer ready = ready_[index];
        device::EventPointer end;
        timing_.begin_bucket(index);
        lock.unlock();
        try {
            gradients_.go_on(ready);
            reduce(index);
            end = gradients_.end();
            if (is_last) exchange_arrivals();
            if (is_last && !gradients_.has_programs_stream()) await(end);
        } catch (...) {
            fail(current_status());
            lock.lock();
            continue;
        }
        lock.lock();
        gradient_bytes_ += static_cast<int64_t>(layout_->buckets()[index].size());
        launched_ = index + 1;
        reduced_ = index + 1;
        ends_[index] = end;
        std::shared_ptr<Work> work;
        if (is_last) {
            end_ = end;
            end_buckets();
            work = std::exchange(work_, nullptr);
        }
        changed_.notify_all();
        if (!work) continue;
        lock.unlock();
        end_work(work, end);
        work.reset();
        lock.lock();
    }
}

// Of a pass whose buckets are reduced, on a device once that has come to the end.
void Reducer::end_work(const std::shared_ptr<Work>& work,
                       const device::EventPointer& end) noexcept {
    if (!end || !gradients_.has_programs_stream()) return work->finish({});
    work->enqueued(end);
    device::Watcher::Wait wait{end, [work, group = group_](const Status& passed) {
                                   work->finish(passed.ok() ? group->failure() : passed);
                                   return device::EventPointer();
                               }};
    device::Watcher::of_process().add(std::move(wait));
}

void Reducer::reduce(size_t index) {
    const GradientBucket bucket = make_bucket(index);
    exchange_used(*bucket.layout);
    reduction_->run(bucket);
    give_own(*bucket.layout);
}

template <typename Make>
void Reducer::run_beside(const View& numbers, Make&& make) {
    if (group_->backends().name_for(TUTTI_CPU) != nullptr) return group_->run(make(numbers), 0);
    if (beside_size_ < numbers.size()) {
        beside_ = gradients_.alloc(numbers.size());
        beside_size_ = numbers.size();
    }
    device::Pinned pinned = gradients_.take_pinned(numbers.size());
    const View copied{pinned.data(), numbers.count, numbers.dtype};
    const View there{beside_.get(), numbers.count, numbers.dtype, gradients_.device()};
    std::memcpy(copied.data, numbers.data, numbers.size());
    gradients_.give(there, copied);
    group_->run(make(there), {0, gradients_.stream()});
    gradients_.give(copied, there);
    pinned.used_until(gradients_.end());
    await(pinned.last_use());
    std::memcpy(numbers.data, copied.data, numbers.size());
}

// Without a static graph's knowledge a byte for each parameter, the largest over the ranks;
// parameters that must be used are.
void Reducer::exchange_used(const BucketLayout::Bucket& bucket) {
    const bool knows = options_.static_graph ? is_counting_ : !options_.finds_unused();
    if (knows && options_.static_graph) return;
    std::vector<uint8_t> used;
    for (const int64_t one : bucket.parameters) {
        used.push_back(knows || slots_[static_cast<size_t>(one)].has_gradient ? 1 : 0);
    }
    if (!knows) {
        const View view{used.data(), static_cast<int64_t>(used.size()), TUTTI_UINT8};
        run_beside(view, [](const View& on) { return AllReduce{on, on, TUTTI_MAX}; });
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
        gradients_.give(own, place_of(parameter));
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
    run_beside({order.data(), static_cast<int64_t>(order.size()), TUTTI_INT64}, [](const View& on) {
        return Broadcast{on, 0};
    });
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
