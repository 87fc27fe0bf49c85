// Calls on memory of devices, by the backend that a group has for the CPU: data are copied to
// memory of the CPU, moved there, and copied back. Copies and calls of long data overlap. Nothing
// of a device is loaded before the first call for one.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "backend/inline_backend.hpp"
#include "backend/stream_calls.hpp"
#include "base/mutex.hpp"
#include "device/driver.hpp"
#include "device/pinned.hpp"
#include "device/watcher.hpp"
#include "progress/gate.hpp"

namespace tutti::staged {

class Lane;

class Staged final : public InlineBackend, public StreamCalls {
public:
    // For one rank of a group. The CPU's backend lives longer, and ends its calls inline.
    Staged(tutti_device_type type, InlineBackend& cpu, int rank, int ranks);
    ~Staged() override;

    [[nodiscard]] const char* name() const override { return cpu_.name(); }
    [[nodiscard]] const Capabilities& capabilities() const override { return can_; }

    [[nodiscard]] StreamCalls* as_stream_calls() override { return this; }
    device::EventPointer begin(const Device& device, void* stream) override;
    // If the call has a stream, that stream waits for the results; else this thread has waited.
    void run(const FlatCall& call, uint64_t sequence, const Deadline& deadline) override;
    // After a call that has a stream: what it used, until the stream is past it.
    void keep(const Device& device, void* stream, std::shared_ptr<const void> used);
    void post(Request request, std::shared_ptr<Work> work) override;

    void send(const Send& call, const Deadline& deadline) override;
    int receive(const Receive& call, const Deadline& deadline) override;
    void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) override;
    // Whether such messages that were started wait for a device still: no later one may pass them.
    [[nodiscard]] bool has_waiting(const Send& call) const {
        return waiting_sends_ > 0 && has_waiting(order_of(call));
    }
    // A receive that is started is the CPU's, into memory of the CPU ...
    struct Landing {
        View view;     // of the device
        Receive host;  // to be started
        std::shared_ptr<device::Pinned> memory;
        device::EventPointer begun;
    };
    Landing prepare(const Receive& call);
    // ... and delivered once its message is there; then the work ends.
    void deliver(Landing landing, int source, std::shared_ptr<Work> work);

    void abort(const Status& status) noexcept override { stop_->set(status); }
    // They are the CPU's, which ends them.
    void abort_messages(const Status& /*status*/) noexcept override {}

private:
    class Sending;

    // Messages to one rank with one tag arrive in the order in which they were sent.
    static int64_t order_of(const Send& call) {
        return (int64_t{call.destination} << 32) | static_cast<int64_t>(call.tag);
    }
    [[nodiscard]] bool has_waiting(int64_t order) const;
    void begin_waiting(int64_t order);
    void end_waiting(int64_t order) noexcept;

    Lane& lane(const Device& device);
    device::EventPointer run_stages(const FlatCall& call, uint64_t sequence,
                                    const Deadline& deadline);
    void wait_for(const device::EventPointer& event, const Deadline& deadline) const;
    static void finish_here(const device::Event& end, void* stream);
    void watch(device::Watcher::Wait wait);

    InlineBackend& cpu_;
    const int rank_;
    const int ranks_;
    Capabilities can_;
    const std::shared_ptr<device::Stop> stop_ = std::make_shared<device::Stop>();
    std::atomic<int> waiting_sends_{0};
    mutable Mutex mutex_;
    std::map<int64_t, int> waiting_ TUTTI_GUARDED_BY(mutex_);  // those, by order
    Gate steps_;                                               // that the watcher will call
    std::map<int, std::unique_ptr<Lane>> lanes_ TUTTI_GUARDED_BY(mutex_);  // by device
};

}  // namespace tutti::staged
