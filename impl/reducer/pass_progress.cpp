#include "pass_progress.hpp"

#include <utility>

#include "base/error.hpp"

namespace tutti {

void PassProgress::check_idle() const {
    if (is_in_pass_) refuse("a pass has begun and not ended; tutti_reducer_finish ends it");
    if (is_reducing_) refuse("the last pass is not done; wait for the work of its finish");
}

void PassProgress::begin(std::vector<device::EventPointer> ready) {
    buckets_.clear();
    for (auto& one : ready) buckets_.push_back({std::move(one), {}});
    has_begun_ = true;
    is_in_pass_ = true;
    is_reducing_ = pass_.synchronises();
    launched_ = 0;
    reduced_ = 0;
    taken_ = 0;
    pass_.open();
    changed_.notify_all();  // of a static graph, a bucket may wait for nothing
}

bool PassProgress::end_pass() {
    is_in_pass_ = false;
    return pass_.synchronises() && !is_reducing_;
}

void PassProgress::await_buckets(Lock& lock) {
    while (is_reducing_ && failure_.ok()) changed_.wait(lock);
    if (!failure_.ok()) throw Error(failure_);
}

bool PassProgress::give_work(const std::shared_ptr<Work>& work) {
    if (!is_reducing_ || !failure_.ok()) return false;
    work_ = work;
    return true;
}

std::optional<PassProgress::Taken> PassProgress::take_bucket(Lock& lock, int64_t timeout_ms) {
    const Deadline until = Deadline::after_ms(timeout_ms);
    if (!pass_.synchronises() || taken_ == buckets_.size()) return std::nullopt;
    while (failure_.ok() && reduced_ == taken_) {
        if (changed_.wait(lock, until)) continue;
        throw Error(TUTTI_ERR_PENDING, cat("bucket ", taken_, " is not reduced after ", timeout_ms,
                                           " ms; the pass continues"));
    }
    if (!failure_.ok()) throw Error(failure_);
    const size_t index = taken_++;
    return Taken{index, buckets_[index].end};
}

void PassProgress::bucket_is_complete(size_t bucket) {
    if (bucket != launched_) return;
    const Lock lock(mutex);
    changed_.notify_all();
}

void PassProgress::bucket_is_complete(size_t bucket, device::EventPointer ready) {
    const Lock lock(mutex);
    buckets_[bucket].ready = std::move(ready);
    changed_.notify_all();
}

bool PassProgress::has_job() const {
    if (!is_reducing_ || !failure_.ok() || launched_ == buckets_.size()) return false;
    return pass_.is_complete(launched_) && (!is_on_device_ || buckets_[launched_].ready);
}

std::optional<PassProgress::Job> PassProgress::await_job(Lock& lock) {
    if (std::exchange(is_at_work_, false) && !failure_.ok()) changed_.notify_all();
    while (!is_stopping_ && !has_job()) changed_.wait(lock);
    if (is_stopping_) return std::nullopt;
    const size_t index = launched_;
    is_at_work_ = true;
    return Job{index, index + 1 == buckets_.size(), buckets_[index].ready};
}

void PassProgress::job_is_done(const Job& job, DeviceEnd end) {
    launched_ = job.index + 1;
    reduced_ = job.index + 1;
    buckets_[job.index].end = std::move(end);
    changed_.notify_all();
}

bool PassProgress::buckets_are_done(DeviceEnd end) {
    end_ = std::move(end);
    is_reducing_ = false;
    return !is_in_pass_;
}

void PassProgress::set_order(const std::vector<int64_t>& order) {
    new_order_.assign(order.begin(), order.end());
}

Indices PassProgress::take_order() {
    return std::exchange(new_order_, {});
}

std::shared_ptr<Work> PassProgress::fail(const Status& status) {
    const Lock lock(mutex);
    if (failure_.ok()) failure_ = status;
    static_cast<void>(pass_.close());
    is_reducing_ = false;
    changed_.notify_all();
    return take_work();
}

void PassProgress::await_rest(Lock& lock) {
    while (is_at_work_) changed_.wait(lock);
}

void PassProgress::start_over() {
    has_begun_ = false;
    is_in_pass_ = false;
    buckets_.clear();
    end_ = {};
    new_order_.clear();
    failure_ = {};
}

PassProgress::Stopped PassProgress::stop() {
    const Lock lock(mutex);
    is_stopping_ = true;
    changed_.notify_all();
    return {!is_reducing_ && failure_.ok(), end_.event};
}

std::shared_ptr<Work> PassProgress::take_work() {
    return std::exchange(work_, nullptr);
}

}  // namespace tutti
