// Collectives. Their stages are run in the group's turn, so the lane's slots belong to one call.
#include "staged.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "device/waiting.hpp"
#include "lane.hpp"
#include "plan.hpp"

namespace tutti::staged {

namespace {

// The limit of a lane's own memory; a call that needs more has it for itself.
constexpr size_t max_slot = size_t{16} << 20;

}  // namespace

Staged::Staged(tutti_device_type type, InlineBackend& cpu, int rank, int ranks)
    : cpu_(cpu), rank_(rank), ranks_(ranks), can_(cpu.capabilities()) {
    can_.devices = NumberSet::of(type);
    can_.completion = Completion::Stream;
}

Staged::~Staged() {
    stop_->set({TUTTI_ERR_ABORTED, rank_, 0, "the group was destroyed"});
    steps_.wait_until_unused();
}

Lane& Staged::lane(const Device& device) {
    device::Driver& driver = device::Driver::of(device.type);
    driver.check_device(device.index, {"device_index"});
    const Lock lock(mutex_);
    auto& lane = lanes_[device.index];
    if (!lane) {
        // The end of a call needs the thread, and must not fail for it.
        device::Watcher::of_process().start_thread();
        lane = std::make_unique<Lane>(driver, device.index);
    }
    return *lane;
}

void Staged::wait_for(const device::EventPointer& event, const Deadline& deadline) const {
    if (event) device::wait_for(*event, deadline, [this] { stop_->check(); });
}

device::EventPointer Staged::begin(const Device& device, void* stream) {
    return lane(device).driver().record_for_caller(device.index, stream, "options.stream");
}

// Copies are enqueued once the caller's stream has come to the call: if it fails before, nothing
// uses its memory.
device::EventPointer Staged::run_stages(const FlatCall& call, uint64_t sequence,
                                        const Deadline& deadline) {
    if (call.fault) throw Error(*call.fault);
    wait_for(call.begun, deadline);
    Lane& lane = this->lane(call.device);
    const Plan plan(call, rank_, ranks_);
    std::array<device::Pinned, Lane::slots> own;
    const bool has_own = plan.stage_bytes() > max_slot;
    struct UnderWay {
        Stage stage;
        device::EventPointer arrived;
    };
    std::array<UnderWay, Lane::slots> under_way;
    const auto slot = [&](size_t index) -> device::Pinned& {
        if (!has_own) return lane.slot(index, plan.stage_bytes());
        device::Pinned& mine = own[index % Lane::slots];
        if (mine.size() == 0) mine = lane.take(plan.stage_bytes());
        return mine;
    };
    device::EventPointer end;
    try {
        size_t begun = 0;
        for (size_t index = 0; index < plan.stages(); ++index) {
            for (; begun < plan.stages() && begun < index + Lane::slots; ++begun) {
                device::Pinned& memory = slot(begun);
                UnderWay& next = under_way[begun % Lane::slots];
                next.stage = plan.stage(begun, memory.data());
                next.arrived = lane.copy_in(next.stage.in, memory.last_use());
            }
            UnderWay& now = under_way[index % Lane::slots];
            wait_for(now.arrived, Deadline::never());
            cpu_.run(now.stage.call, sequence, deadline);
            end = lane.copy_out(now.stage.out);
            slot(index).used_until(end);
        }
    } catch (...) {
        lane.drain();
        throw;
    }
    return end;
}

void Staged::run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) {
    const device::EventPointer end = run_stages(call, sequence, deadline);
    finish_here(*end, call.stream);
}

// The caller's stream waits, or else this thread.
void Staged::finish_here(const device::Event& end, void* stream) {
    if (stream != nullptr) return end.precede(stream);
    device::wait_for(end, Deadline::never(), [] {});
}

// No step of this group's: what the stream does after the call may hold it up.
void Staged::keep(const Device& device, void* stream, std::shared_ptr<const void> used) {
    device::Watcher::of_process().keep(lane(device).driver().record(device.index, stream),
                                       std::move(used));
}

void Staged::post(Request request, std::shared_ptr<Work> work) {
    device::EventPointer end;
    try {
        end = run_stages(request.call, request.sequence, request.deadline);
    } catch (...) {
        work->finish(current_status());
        return;
    }
    work->enqueued(end);
    watch({.event = end, .step = [work](const Status& status) -> device::EventPointer {
               work->finish(status);
               return nullptr;
           }});
}

// The group ends after the steps of its messages.
void Staged::watch(device::Watcher::Wait wait) {
    static_cast<void>(steps_.enter());  // it is shut last
    wait.step = [this, step = std::move(wait.step)](const Status& status) {
        device::EventPointer next = step(status);
        if (!next) steps_.leave();
        return next;
    };
    try {
        device::Watcher::of_process().add(std::move(wait));
    } catch (...) {
        steps_.leave();
        throw;
    }
}

}  // namespace tutti::staged
