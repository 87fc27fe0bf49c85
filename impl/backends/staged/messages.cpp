// Messages: through memory of the CPU, which is theirs until they are there.
#include <utility>

#include "base/error.hpp"
#include "device/waiting.hpp"
#include "lane.hpp"
#include "staged.hpp"

namespace tutti::staged {

namespace {

std::byte* memory_of(const ConstView& view) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(view.data));  // only read
}

// The same message, in memory of the CPU.
Send send_from(const Send& call, std::byte* memory) {
    Send host = call;
    host.buffer = ConstView(memory, call.buffer.count, call.buffer.dtype);
    host.stream = nullptr;
    host.begun = nullptr;
    return host;
}

Receive receive_to(const Receive& call, std::byte* memory) {
    Receive host = call;
    host.buffer = View{memory, call.buffer.count, call.buffer.dtype};
    host.stream = nullptr;
    host.begun = nullptr;
    return host;
}

}  // namespace

void Staged::send(const Send& call, const Deadline& deadline) {
    if (has_waiting(call)) return Backend::send(call, deadline);  // behind them
    const bool was_behind_them = call.buffer.device.type == TUTTI_CPU;
    if (was_behind_them) return cpu_.send(call, deadline);
    wait_for(call.begun, deadline);
    Lane& lane = this->lane(call.buffer.device);
    const device::Pinned memory = lane.take(call.buffer.size());
    const Copy copy{memory_of(call.buffer), memory.data(), call.buffer.size()};
    device::wait_for(*lane.copy_in({copy}, nullptr), Deadline::never(), [] {});
    cpu_.send(send_from(call, memory.data()), deadline);
}

int Staged::receive(const Receive& call, const Deadline& deadline) {
    wait_for(call.begun, deadline);
    Lane& lane = this->lane(call.buffer.device);
    device::Pinned memory = lane.take(call.buffer.size());
    const int source = cpu_.receive(receive_to(call, memory.data()), deadline);
    const auto end = lane.copy_out({{memory_of(call.buffer), memory.data(), call.buffer.size()}});
    memory.used_until(end);
    finish_here(*end, call.stream);
    return source;
}

// One that has been started: waits for the stream, then for its copy, then it is the CPU's.
class Staged::Sending {
public:
    Sending(Staged& staged, Send call, const Deadline& deadline, std::shared_ptr<Work> work)
        : staged_(staged), call_(std::move(call)), deadline_(deadline), work_(std::move(work)) {}

    device::EventPointer step(const Status& status) {
        try {
            if (!status.ok()) throw Error(status);
            if (call_.buffer.device.type == TUTTI_CPU) {  // behind one of a device
                pass_on(call_);
            } else if (!memory_) {
                return copy();
            } else {
                Send host = send_from(call_, memory_->data());
                host.memory = memory_;
                pass_on(host);
            }
        } catch (...) {
            work_->finish(current_status());
        }
        staged_.end_waiting(order_of(call_));
        return nullptr;
    }

private:
    device::EventPointer copy() {
        Lane& lane = staged_.lane(call_.buffer.device);
        memory_ = std::make_shared<device::Pinned>(lane.take(call_.buffer.size()));
        const Copy copy{memory_of(call_.buffer), memory_->data(), call_.buffer.size()};
        auto copied = lane.copy_in({copy}, nullptr);
        work_->enqueued(copied);  // then its buffer is the caller's again
        return copied;
    }
    void pass_on(const Send& call) { staged_.cpu_.start(call, deadline_, work_); }

    Staged& staged_;
    const Send call_;
    const Deadline deadline_;
    const std::shared_ptr<Work> work_;
    std::shared_ptr<device::Pinned> memory_;
};

bool Staged::has_waiting(int64_t order) const {
    const Lock lock(mutex_);
    return waiting_.contains(order);
}

void Staged::begin_waiting(int64_t order) {
    const Lock lock(mutex_);
    ++waiting_[order];
    ++waiting_sends_;
}

void Staged::end_waiting(int64_t order) noexcept {
    const Lock lock(mutex_);
    const auto waiting = waiting_.find(order);
    if (--waiting->second == 0) waiting_.erase(waiting);
    --waiting_sends_;
}

void Staged::start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) {
    const auto sending = std::make_shared<Sending>(*this, call, deadline, std::move(work));
    const int64_t order = order_of(call);
    begin_waiting(order);
    try {
        watch({.event = call.begun,
               .step = [sending](const Status& status) { return sending->step(status); },
               .deadline = deadline,
               .stop = stop_,
               .order = {this, order}});
    } catch (...) {
        end_waiting(order);
        throw;
    }
}

Staged::Landing Staged::prepare(const Receive& call) {
    Landing landing;
    landing.view = call.buffer;
    landing.begun = call.begun;
    landing.memory =
        std::make_shared<device::Pinned>(lane(call.buffer.device).take(call.buffer.size()));
    landing.host = receive_to(call, landing.memory->data());
    return landing;
}

void Staged::deliver(Landing landing, int source, std::shared_ptr<Work> work) {
    const device::EventPointer begun = landing.begun;
    const auto step = [this, landing = std::move(landing), source, work,
                       copied = false](const Status& status) mutable -> device::EventPointer {
        try {
            if (!status.ok()) throw Error(status);
            if (!std::exchange(copied, true)) {
                const View& view = landing.view;
                const auto end =
                    lane(view.device)
                        .copy_out({{memory_of(view), landing.memory->data(), view.size()}});
                landing.memory->used_until(end);
                work->enqueued(end);
                return end;
            }
            work->finish({}, source);
        } catch (...) {
            work->finish(current_status());
        }
        return nullptr;
    };
    watch({.event = begun, .step = step, .stop = stop_});
}

}  // namespace tutti::staged
