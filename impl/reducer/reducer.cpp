// Making a reducer, what it is between passes, its end.
#include "reducer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "device/watcher.hpp"
#include "group/coalescing.hpp"
#include "quantised.hpp"
#include "short_floats.hpp"
#include "verification.hpp"

namespace tutti {

namespace {

constexpr size_t room_for_alignment = 64;  // of each bucket, of which there may be one a parameter

size_t memory_for(const Parameters& parameters) {
    size_t size = 0;
    for (const Parameter& one : parameters) size += one.size() + room_for_alignment;
    return size;
}

std::vector<int64_t> sizes_of(const BucketLayout& layout) {
    std::vector<int64_t> sizes;
    for (const BucketLayout::Bucket& one : layout.buckets()) {
        sizes.push_back(static_cast<int64_t>(one.size()));
    }
    return sizes;
}

std::unique_ptr<const BucketLayout> lay_out(const Parameters& parameters,
                                            std::span<const size_t> order,
                                            const ReducerOptions& options) {
    const BucketCaps caps{options.first_bucket_cap, options.bucket_cap};
    return std::make_unique<const BucketLayout>(parameters,
                                                assign_buckets(parameters, order, caps));
}

void destroy(Group& group) noexcept {
    try {
        group.destroy();
    } catch (const Error&) {  // with the group that it was made from
    }
}

// On a thread of its own: it may wait for other ranks.
void destroy_beside(const std::shared_ptr<Group>& group) noexcept {
    try {
        start_thread("tutti-reducer", [group] { destroy(*group); }).detach();
    } catch (const std::exception&) {  // it ends with its last holder
    }
}

// False also where the device has failed: then nothing is to come either.
bool is_to_come(const device::EventPointer& end) noexcept {
    try {
        return end && !end->passed();
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::shared_ptr<Reducer> Reducer::create(Group& parent, Parameters parameters,
                                         std::span<const View> values, Indices order,
                                         const ReducerOptions& options) {
    try {
        check_parameters(parameters, values, order);
        check_options(parameters, options, parent);
        Gradients::check(parameters.front().device, options.stream);
    } catch (const Error& error) {
        decline_reducer_group(parent, error.status());
        throw;
    }
    auto group = make_reducer_group(parent, parameters, order, options);
    const std::shared_ptr<Reducer> reducer(
        new Reducer(std::move(group), std::move(parameters), order, options));
    if (options.initial_broadcast) reducer->broadcast(values, 0);
    reducer->log_start();
    reducer->thread_ = start_thread("tutti-reducer", [it = reducer.get()] { it->serve(); });
    return reducer;
}

Reducer::Reducer(std::shared_ptr<Group> group, Parameters parameters, const Indices& order,
                 const ReducerOptions& options)
    : group_(std::move(group)),
      parameters_(std::move(parameters)),
      options_(options),
      gradients_(*group_, parameters_.front().device, memory_for(parameters_), options.stream),
      layout_(lay_out(parameters_, order, options)),
      first_bucket_sizes_(sizes_of(*layout_)),
      slots_(std::make_unique<Slot[]>(parameters_.size())),
      used_(std::make_unique<std::atomic<uint8_t>[]>(parameters_.size())),
      pending_(std::make_unique<std::atomic<int64_t>[]>(parameters_.size())),
      arrivals_(parameters_.size()) {
    if (options.static_graph) {
        for (size_t i = 0; i < parameters_.size(); ++i) slots_[i].expected = any_number;
    }
    if (options.keep_micro_batches == 0) {
        reduction_ = all_reducing();
        return;
    }
    auto kept = std::make_unique<MicroBatches>(group_, options_, gradients_.data(),
                                               memory_for(parameters_));
    micro_batches_ = kept.get();
    reduction_ = std::move(kept);
}

Reducer::~Reducer() {
    bool is_idle = false;
    device::EventPointer end;
    {
        const Lock lock(mutex_);
        stopping_ = true;
        is_idle = !is_reducing_ && failure_.ok();
        end = end_.event;
        changed_.notify_all();
    }
    if (is_idle && is_to_come(end)) {
        // The device has what the program counts on, perhaps still before it.
        device::Watcher::of_process().add({end, [group = group_](const Status&) {
                                               destroy_beside(group);
                                               return device::EventPointer();
                                           }});
    } else {
        destroy(*group_);  // what the thread waits for ends
    }
    if (thread_.joinable()) thread_.join();
    const Lock lock(mutex_);
    if (work_) work_->finish({TUTTI_ERR_ABORTED, -1, 0, "the reducer was released"});
}

// Issued together, as many at a time as one call takes without much memory.
void Reducer::broadcast(std::span<const View> buffers, int root, const Device& device) {
    constexpr size_t max_calls = 512;
    void* const stream = device.type == TUTTI_CPU ? nullptr : options_.stream;
    for (size_t begin = 0; begin < buffers.size(); begin += max_calls) {
        Coalescing calls(group_, device);
        for (const View& one : buffers.subspan(begin, std::min(max_calls, buffers.size() - begin)))
            calls.collect(Broadcast{one, root});
        group_->run(calls.end(), {0, stream});
    }
}

// Those on the CPU, then those on the reducer's device: a call has one.
void Reducer::broadcast(std::span<const View> buffers, int root) {
    if (!gradients_.is_on_device()) return broadcast(buffers, root, {});
    std::vector<View> on_cpu, on_device;
    for (const View& one : buffers) {
        (one.device.type == TUTTI_CPU ? on_cpu : on_device).push_back(one);
    }
    broadcast(on_cpu, root, {});
    broadcast(on_device, root, gradients_.device());
}

void Reducer::check_index(size_t parameter) const {
    if (parameter < parameters_.size()) return;
    refuse("index is ", static_cast<int64_t>(parameter), "; the reducer has ", parameters_.size(),
           " parameters");
}

View Reducer::gradient(size_t parameter) const {
    check_index(parameter);
    const Lock lock(mutex_);
    return place_of(parameter);
}

GradientBucket Reducer::make_bucket(size_t index) const {
    return {&layout_->buckets()[index], layout_->bucket(index, gradients_.data()), index,
            layout_->buckets().size(), gradients_.stream()};
}

GradientBucket Reducer::bucket(size_t index) const {
    const Lock lock(mutex_);
    if (index < layout_->buckets().size()) return make_bucket(index);
    refuse("index is ", static_cast<int64_t>(index), "; the reducer has ",
           layout_->buckets().size(), " buckets");
}

void Reducer::check_sound() const {
    Status status = failure_;
    if (status.ok() && gradients_.is_on_device()) status = group_->end_of_calls();
    if (status.ok()) return;
    status.message = cat("the reducer has failed before: ", status.message);
    throw Error(std::move(status));
}

void Reducer::check_idle() const {
    if (is_in_pass_) refuse("a pass has begun and not ended; tutti_reducer_finish ends it");
    if (is_reducing_) refuse("the last pass is not done; wait for the work of its finish");
}

void Reducer::begin_forward() {
    const Lock lock(mutex_);
    timing_.begin_forward();
}

// In the same memory, so that no rank has to wait for another.
void Reducer::rebuild() {
    auto next = lay_out(parameters_, new_order_, options_);
    if (!next->same_buckets(*layout_)) move_to(std::move(next));
    rebuilt_bucket_sizes_ = sizes_of(*layout_);
    new_order_.clear();
}

void Reducer::move_to(std::unique_ptr<const BucketLayout> next) {
    const auto place = [&](const View& of) {
        return static_cast<size_t>(of.bytes().data() - gradients_.data());
    };
    std::vector<Gradients::Move> moves;
    for (size_t i = 0; i < parameters_.size(); ++i) {
        const View from = place_of(i);
        const View to = next->gradient(i, parameters_[i].count, gradients_.data());
        if (from.count > 0) moves.push_back({place(from), place(to), from.size()});
    }
    gradients_.move(moves, layout_->size());
    layout_ = std::move(next);
    ++generation_;
}

void Reducer::sync_buffers(std::span<const View> buffers, int root) {
    {
        const Lock lock(mutex_);
        check_sound();
        check_idle();
    }
    if (root < 0 || root >= group_->size()) {
        refuse("group_src is ", root, "; the group has ", group_->size(), " ranks");
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
        const Device& device = buffers[i].device;
        if (device.type == TUTTI_CPU) need_cpu(parameters_, *group_, "a buffer on the CPU");
        if (device.type == TUTTI_CPU || device == gradients_.device()) continue;
        throw Error(
            TUTTI_ERR_UNSUPPORTED,
            cat("buffers[", i, "] is on ", describe(device), "; this reducer takes buffers ",
                gradients_.is_on_device() ? "on the CPU and on " : "on ",
                gradients_.is_on_device() ? describe(gradients_.device()) : "the CPU"));
    }
    try {
        broadcast(buffers, root);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_INVALID_ARGUMENT) fail(error.status());
        throw;
    }
}

void Reducer::set_reduction(std::unique_ptr<BucketReduction> reduction) {
    const Lock lock(mutex_);
    check_idle();
    communicated_before_ += reduction_->communicated();
    std::swap(reduction_, reduction);
}

void Reducer::set_hook(Hooked::Hook hook) {
    if (micro_batches_ != nullptr) {
        refuse("options.keep_micro_batches is not 0; exact sums of several gradients have no hook");
    }
    if (!hook) return set_reduction(all_reducing());
    set_reduction(std::make_unique<Hooked>(std::move(hook)));
}

void Reducer::check_can_compress() const {
    if (micro_batches_ != nullptr) {
        refuse("options.keep_micro_batches is not 0; exact sums are not compressed");
    }
    const Lock lock(mutex_);
    check_sound();
    check_idle();
}

std::unique_ptr<BucketReduction> Reducer::on_cpu(std::unique_ptr<BucketReduction> reduction) const {
    if (!gradients_.is_on_device()) return reduction;
    const auto await = [this](const device::EventPointer& event) { this->await({event, {}}); };
    return std::make_unique<ThroughCpu>(std::move(reduction), gradients_, await);
}

std::unique_ptr<BucketReduction> Reducer::all_reducing() const {
    auto all_reducing = std::make_unique<AllReducing>(group_, options_);
    if (options_.predivide == 1) return all_reducing;
    return on_cpu(std::move(all_reducing));
}

void Reducer::set_compression(Compression compression) {
    check_can_compress();
    if (compression == Compression::None) {
        return set_reduction(all_reducing());
    }
    need_cpu(parameters_, *group_, "compression");
    int64_t most = 0;  // also of buckets to come
    for (const Parameter& one : parameters_) most += floats_of({nullptr, one.count, one.dtype});
    const auto dtype = compression == Compression::Float16 ? TUTTI_FLOAT16 : TUTTI_BFLOAT16;
    try {
        if (compression == Compression::Quantised) {
            return set_reduction(on_cpu(std::make_unique<Quantised>(group_, options_, most)));
        }
        set_reduction(on_cpu(std::make_unique<ShortFloats>(group_, options_, dtype, most)));
    } catch (const Error& error) {
        fail(error.status());
        throw;
    }
}

void Reducer::set_power_sgd(const PowerSgdOptions& options) {
    try {
        check_can_compress();
        need_cpu(parameters_, *group_, "compression");
        check_power_sgd(parameters_, options);
    } catch (const Error& error) {
        decline_power_sgd(error.status());
        throw;
    }
    compare_power_sgd(*group_, parameters_, options);
    try {
        set_reduction(on_cpu(
            std::make_unique<PowerSgd>(group_, options_, options, parameters_, used_.get())));
    } catch (const Error& error) {
        fail(error.status());
        throw;
    }
}

void Reducer::decline_power_sgd(const Status& why) noexcept {
    tutti::decline_power_sgd(*group_, why);
}

}  // namespace tutti
