// The reducer's thread: bucket after bucket of a pass, and what follows the last one. Holds no lock
// while it communicates.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "device/waiting.hpp"
#include "device/watcher.hpp"
#include "reducer.hpp"

namespace tutti {

bool Reducer::has_job() const {
    if (!is_reducing_ || !failure_.ok() || launched_ == layout_->buckets().size()) return false;
    return pending_[launched_] == 0 && (!gradients_.is_on_device() || ready_[launched_]);
}

void Reducer::serve() noexcept {
    std::vector<std::shared_ptr<Work>> calls;  // of this pass, on a device
    Lock lock(mutex_);
    for (;;) {
        while (!stopping_ && !has_job()) changed_.wait(lock);
        if (stopping_) return;
        const size_t index = launched_;
        const bool is_last = index + 1 == layout_->buckets().size();
        const device::EventPointer ready = ready_[index];
        DeviceEnd end, whole;
        timing_.begin_bucket(index);
        lock.unlock();
        try {
            if (index == 0) calls.clear();
            gradients_.go_on(ready);
            end = reduce(index);
            calls.insert(calls.end(), end.calls.begin(), end.calls.end());
            if (is_last) exchange_arrivals();
            if (is_last) whole = {end.event, calls};
            if (is_last && !gradients_.has_programs_stream()) await(whole);
        } catch (...) {
            fail(current_status());
            lock.lock();
            continue;
        }
        lock.lock();
        gradient_bytes_ += static_cast<int64_t>(layout_->buckets()[index].size());
        launched_ = index + 1;
        reduced_ = index + 1;
        ends_[index] = std::move(end);
        std::shared_ptr<Work> work;
        if (is_last) {
            end_ = whole;
            end_buckets();
            work = std::exchange(work_, nullptr);
        }
        changed_.notify_all();
        if (!work) continue;
        lock.unlock();
        end_work(work, whole);
        work.reset();
        lock.lock();
    }
}

Reducer::DeviceEnd Reducer::reduce(size_t index) {
    GradientBucket bucket = make_bucket(index);
    DeviceEnd end;
    bucket.calls = &end.calls;
    exchange_used(*bucket.layout);
    {
        const InOperation inside({this});  // for a hook
        reduction_->run(bucket);
    }
    give_own(*bucket.layout);
    end.event = gradients_.end();
    return end;
}

void Reducer::check_going_on(const DeviceEnd& end) const {
    if (Status failure = group_->end_of_calls(); !failure.ok()) throw Error(std::move(failure));
    for (const auto& call : end.calls) {
        if (const auto status = call->status(); status && !status->ok()) throw Error(*status);
    }
    if (stopping_) throw Error(TUTTI_ERR_ABORTED, "the reducer was released");
}

// What ends a call early lets its event pass; so the calls say how it went.
void Reducer::await(const DeviceEnd& end) const {
    if (!end.event) return;
    device::wait_for(*end.event, Deadline::never(), [&] { check_going_on(end); });
    for (const auto& call : end.calls) call->wait(Deadline::never());
    check_going_on(end);
}

// Of a pass whose buckets are reduced, or will be by the device: then when that has come to the
// end and all calls have ended well, or as soon as one has failed.
void Reducer::end_work(const std::shared_ptr<Work>& work, const DeviceEnd& end) const noexcept {
    if (!end.event || !gradients_.has_programs_stream()) return work->finish({});
    work->enqueued(end.event);
    const auto left = std::make_shared<std::atomic<size_t>>(end.calls.size() + 1);
    const auto ends = [work, left, group = group_](const Status& status) {
        Status failure = status.ok() ? Status{} : group->failure();
        if (failure.ok()) failure = status;
        if (!failure.ok() || --*left == 0) work->finish(std::move(failure));
    };
    try {
        for (const auto& call : end.calls) call->then(ends, Callbacks::of_library());
    } catch (const std::exception&) {
        return work->finish(current_status());
    }
    const bool knows_calls = !end.calls.empty();  // otherwise those of a hook may have failed
    device::Watcher::of_process().add(
        {end.event, [ends, knows_calls, group = group_](const Status& passed) {
             ends(passed.ok() && !knows_calls ? group->end_of_calls() : passed);
             return device::EventPointer();
         }});
}

template <typename Make>
void Reducer::run_beside(const View& numbers, Make&& make) {
    if (group_->backends().name_for(TUTTI_CPU) != nullptr) return group_->run(make(numbers), 0);
    device::Pinned pinned = gradients_.take_pinned(numbers.size());
    const View copied{pinned.data(), numbers.count, numbers.dtype};
    const View there{gradients_.beside(numbers.size()), numbers.count, numbers.dtype,
                     gradients_.device()};
    std::memcpy(copied.data, numbers.data, numbers.size());
    gradients_.give(there, copied);
    pinned.used_until(gradients_.end());
    auto call = group_->start(make(there), {0, gradients_.stream()});
    Group::hold(*call, gradients_.stream());
    gradients_.give(copied, there);
    pinned.used_until(gradients_.end());
    await({pinned.last_use(), {std::move(call)}});
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
        gradients_.give_own(own, place_of(parameter));
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
    if (gradients_.is_on_device()) gradients_.stop_giving();
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
