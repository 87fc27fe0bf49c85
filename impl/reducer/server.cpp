#include "server.hpp"

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/function_call.hpp"
#include "base/thread.hpp"

namespace tutti {

void Server::start() {
    thread_ = start_thread("tutti-reducer", [this] { serve(); });
}

void Server::join() noexcept {
    if (thread_.joinable()) thread_.join();
}

void Server::serve() noexcept {
    Gradients& memory = parts_.buckets.memory();
    std::vector<std::shared_ptr<Work>> calls;  // of this pass, on a device
    Lock lock(parts_.progress.mutex);
    while (const auto job = parts_.progress.await_job(lock)) {
        DeviceEnd end, whole;
        parts_.statistics.timing().begin_bucket(job->index);
        lock.unlock();
        try {
            if (job->index == 0) calls.clear();
            memory.go_on(job->ready);
            end = reduce(job->index);
            calls.insert(calls.end(), end.calls.begin(), end.calls.end());
            if (job->is_last) exchange_arrivals();
            if (job->is_last) whole = {end.event, calls};
            if (job->is_last && !memory.has_programs_stream()) parts_.waits.await(whole);
        } catch (...) {
            fail(current_status());
            lock.lock();
            continue;
        }
        lock.lock();
        parts_.statistics.bucket_is_reduced(job->index);
        parts_.progress.job_is_done(*job, std::move(end));
        if (!job->is_last) continue;
        std::shared_ptr<Work> work = end_buckets(whole);
        if (!work) continue;
        lock.unlock();
        parts_.waits.finish_at(whole, work);
        work.reset();
        lock.lock();
    }
}

void Server::fail(Status status) noexcept {
    parts_.model.group->abandon(status);  // unless it has failed itself
    if (parts_.buckets.memory().is_on_device()) parts_.buckets.memory().stop_giving();
    const std::shared_ptr<Work> work = parts_.progress.fail(status);
    if (work) work->finish(std::move(status));
}

DeviceEnd Server::reduce(size_t index) {
    GradientBucket bucket = parts_.buckets.bucket(index);
    DeviceEnd end;
    bucket.calls = &end.calls;
    exchange_used(*bucket.layout);
    {
        const InOperation inside({reducer_});  // for a hook
        parts_.reductions.current().run(bucket);
    }
    copy_to_own(*bucket.layout);
    end.event = parts_.buckets.memory().end();
    return end;
}

// Without a static graph's knowledge ranks exchange a byte for each parameter, the largest over the
// ranks; parameters that must be used are.
void Server::exchange_used(const BucketLayout::Bucket& bucket) {
    Pass& pass = parts_.pass;
    const ReducerOptions& options = parts_.model.options;
    const bool knows = options.static_graph ? pass.is_counting() : !options.finds_unused();
    if (knows && options.static_graph) return;
    std::vector<uint8_t> used;
    for (const int64_t one : bucket.parameters) {
        used.push_back(knows || pass.has_gradient(static_cast<size_t>(one)) ? 1 : 0);
    }
    if (!knows) side_calls_.max({used.data(), static_cast<int64_t>(used.size()), TUTTI_UINT8});
    for (size_t i = 0; i < used.size(); ++i) {
        pass.used()[static_cast<size_t>(bucket.parameters[i])] = used[i];
    }
}

void Server::copy_to_own(const BucketLayout::Bucket& bucket) {
    for (const int64_t one : bucket.parameters) {
        const auto parameter = static_cast<size_t>(one);
        const View& own = parts_.pass.own(parameter);
        if (own.data == nullptr || own.count == 0 || !parts_.pass.is_used(parameter)) continue;
        parts_.buckets.memory().give_own(own, parts_.buckets.place_of(parameter));
    }
}

// After the first pass that is synchronised all ranks will have the buckets that rank 0's order
// gives.
void Server::exchange_arrivals() {
    if (!parts_.pass.notes_arrivals()) return;
    std::vector<int64_t> order = parts_.pass.arrival_order();
    side_calls_.broadcast({order.data(), static_cast<int64_t>(order.size()), TUTTI_INT64});
    const Lock lock(parts_.progress.mutex);
    parts_.progress.set_order(order);
}

std::shared_ptr<Work> Server::end_buckets(const DeviceEnd& end) {
    parts_.pass.forget_gradients();
    if (MicroBatches* const kept = parts_.reductions.micro_batches()) kept->forget();
    parts_.statistics.timing().end_buckets();
    if (parts_.progress.buckets_are_done(end)) parts_.statistics.pass_is_over();
    return parts_.progress.take_work();
}

}  // namespace tutti
