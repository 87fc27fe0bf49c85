// Making a reducer, what it is between passes, its end.
#include "reducer.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "device/watcher.hpp"
#include "group/coalescing.hpp"
#include "verification.hpp"

namespace tutti {

namespace {

void destroy(Group& group) noexcept {
    try {
        group.destroy();
    } catch (const Error&) {  // with the group that it was made from
    }
}

// Runs on a thread of its own: it may wait for other ranks.
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

// Issues them together, as many at a time as one call takes without much memory.
void broadcast(const ReducerModel& model, std::span<const View> buffers, int root,
               const Device& device) {
    constexpr size_t max_calls = 512;
    void* const stream = device.type == TUTTI_CPU ? nullptr : model.options.stream;
    for (size_t begin = 0; begin < buffers.size(); begin += max_calls) {
        Coalescing calls(model.group, device);
        for (const View& one : buffers.subspan(begin, std::min(max_calls, buffers.size() - begin)))
            calls.collect(Broadcast{one, root});
        model.group->run(calls.end(), {0, stream});
    }
}

// Sends those on the CPU, then those on the reducer's device: a call has one.
void broadcast(const ReducerModel& model, const Gradients& memory, std::span<const View> buffers,
               int root) {
    if (!memory.is_on_device()) return broadcast(model, buffers, root, {});
    std::vector<View> on_cpu, on_device;
    for (const View& one : buffers) {
        (one.device.type == TUTTI_CPU ? on_cpu : on_device).push_back(one);
    }
    broadcast(model, on_cpu, root, {});
    broadcast(model, on_device, root, memory.device());
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
    ReducerModel model{nullptr, std::move(parameters), std::move(order), options};
    model.group = make_reducer_group(parent, model);
    const std::shared_ptr<Reducer> reducer(new Reducer(std::move(model)));
    if (options.initial_broadcast) {
        broadcast(reducer->model_, reducer->buckets_.memory(), values, 0);
    }
    {
        const Lock lock(reducer->progress_.mutex);
        reducer->statistics_.log_start();
    }
    reducer->server_.start();
    return reducer;
}

Reducer::Reducer(ReducerModel model)
    : model_(std::move(model)),
      buckets_(model_),
      pass_(model_.size(), model_.options),
      waits_(model_, buckets_.memory()),
      reductions_(model_, buckets_, waits_),
      progress_(pass_, buckets_.memory().is_on_device()),
      statistics_(model_, buckets_, pass_, reductions_),
      server_({model_, buckets_, pass_, reductions_, waits_, progress_, statistics_}, this) {}

Reducer::~Reducer() {
    waits_.stop();
    const PassProgress::Stopped stopped = progress_.stop();
    if (stopped.is_idle && is_to_come(stopped.end)) {
        // The device has what the program counts on, perhaps still before it.
        device::Watcher::of_process().add({stopped.end, [group = model_.group](const Status&) {
                                               destroy_beside(group);
                                               return device::EventPointer();
                                           }});
    } else {
        destroy(*model_.group);  // what the thread waits for ends
    }
    server_.join();
    std::shared_ptr<Work> work;
    {
        const Lock lock(progress_.mutex);
        work = progress_.take_work();
    }
    if (work) work->finish({TUTTI_ERR_ABORTED, -1, 0, "the reducer was released"});
}

void Reducer::refuse_index(size_t parameter) const {
    refuse("index is ", static_cast<int64_t>(parameter), "; the reducer has ", model_.size(),
           " parameters");
}

View Reducer::gradient(size_t parameter) const {
    check_index(parameter);
    const Lock lock(progress_.mutex);
    return buckets_.place_of(parameter);
}

GradientBucket Reducer::bucket(size_t index) const {
    const Lock lock(progress_.mutex);
    if (index < buckets_.count()) return buckets_.bucket(index);
    refuse("index is ", static_cast<int64_t>(index), "; the reducer has ", buckets_.count(),
           " buckets");
}

std::shared_ptr<const Object> Reducer::logging_data() const {
    const Lock lock(progress_.mutex);
    return statistics_.map();
}

void Reducer::check_sound() const {
    Status status = progress_.failure();
    if (status.ok() && buckets_.memory().is_on_device()) status = model_.group->end_of_calls();
    if (status.ok()) return;
    status.message = cat("the reducer has failed before: ", status.message);
    throw Error(std::move(status));
}

void Reducer::sync_buffers(std::span<const View> buffers, int root) {
    {
        const Lock lock(progress_.mutex);
        check_sound();
        progress_.check_idle();
    }
    const Group& group = *model_.group;
    if (root < 0 || root >= group.size()) {
        refuse("group_src is ", root, "; the group has ", group.size(), " ranks");
    }
    const Gradients& memory = buckets_.memory();
    for (size_t i = 0; i < buffers.size(); ++i) {
        const Device& device = buffers[i].device;
        if (device.type == TUTTI_CPU) need_cpu(model_.parameters, group, "a buffer on the CPU");
        if (device.type == TUTTI_CPU || device == memory.device()) continue;
        throw Error(
            TUTTI_ERR_UNSUPPORTED,
            cat("buffers[", i, "] is on ", describe(device), "; this reducer takes buffers ",
                memory.is_on_device() ? "on the CPU and on " : "on ",
                memory.is_on_device() ? describe(memory.device()) : "the CPU"));
    }
    try {
        broadcast(model_, memory, buffers, root);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_INVALID_ARGUMENT) server_.fail(error.status());
        throw;
    }
}

void Reducer::set_reduction(Reductions::Make make) {
    Reductions::Way way{std::move(make), nullptr};
    way.made = way.make();
    const Lock lock(progress_.mutex);
    progress_.check_idle();
    way = reductions_.use(std::move(way));
}

void Reducer::set_hook(Hooked::Hook hook) {
    if (reductions_.micro_batches() != nullptr) {
        refuse("options.keep_micro_batches is not 0; exact sums of several gradients have no hook");
    }
    set_reduction(reductions_.hooked(std::move(hook)));
}

void Reducer::check_can_compress() const {
    if (reductions_.micro_batches() != nullptr) {
        refuse("options.keep_micro_batches is not 0; exact sums are not compressed");
    }
    const Lock lock(progress_.mutex);
    check_sound();
    progress_.check_idle();
}

void Reducer::set_compression(Compression compression) {
    check_can_compress();
    if (compression == Compression::None) return set_reduction(reductions_.all_reducing());
    need_cpu(model_.parameters, *model_.group, "compression");
    try {
        set_reduction(reductions_.compressing(compression));
    } catch (const Error& error) {
        server_.fail(error.status());
        throw;
    }
}

void Reducer::set_power_sgd(const PowerSgdOptions& options) {
    try {
        check_can_compress();
        need_cpu(model_.parameters, *model_.group, "compression");
        check_power_sgd(model_.parameters, options);
    } catch (const Error& error) {
        decline_power_sgd(error.status());
        throw;
    }
    try {
        set_reduction(reductions_.power_sgd(options, pass_.used()));
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_MISMATCH) server_.fail(error.status());
        throw;
    }
}

void Reducer::decline_power_sgd(const Status& why) noexcept {
    tutti::decline_power_sgd(*model_.group, why);
}

}  // namespace tutti
