// The calls that a backend from outside puts on streams: on one of its own, which the host makes,
// or on those of callers that wait until the call is there. All are on one device, that of the
// first call, and in one order: what is on one stream waits for what came before on another. Any
// thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "device/driver.hpp"
#include "posted_call.hpp"

namespace tutti::ext {

class OnStream {
public:
    explicit OnStream(bool high_priority) : high_priority_(high_priority) {}
    ~OnStream();
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;

    // Takes the device for the one of all calls. False: it is another one.
    bool take(const Device& device);
    // Records the present end of a caller's stream. Throws for another device than the first.
    device::EventPointer begin(const Device& device, void* stream);
    // Looks whether the call can be on its caller's stream. If so, and if no graph is made of it,
    // records the stream's present end in the call. Throws as begin() does, and for a call that
    // cannot be part of a graph.
    FlatCall::Place join(FlatCall& call, void* stream);
    // The stream of the call, which waits for what the call's caller had before it.
    void* stream(const PostedCall& call);
    // The work knows its end on the stream then. Throws if the device has failed.
    void enqueued(const std::shared_ptr<PostedCall>& call);
    [[nodiscard]] size_t size() const;
    [[nodiscard]] bool all_ended() const;
    // Calls `ends` with those that the device has done, in their order, without a lock; true if
    // there were any. One call at a time. Throws if the device has failed.
    bool look(const std::function<void(PostedCall&)>& ends);
    // The device may use their memory for ever.
    void give_up() noexcept;

private:
    void be_on(const Device& device) TUTTI_REQUIRES(mutex_);
    struct Ending {
        std::shared_ptr<PostedCall> call;
        device::EventPointer end;
    };

    const bool high_priority_;
    mutable Mutex mutex_;
    device::Driver* driver_ TUTTI_GUARDED_BY(mutex_) = nullptr;  // null: no call has come
    int device_ TUTTI_GUARDED_BY(mutex_) = 0;
    void* stream_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    std::deque<Ending> endings_ TUTTI_GUARDED_BY(mutex_);
    // Of the last call that was enqueued, but into no graph: where, and its end; null: none was.
    void* last_stream_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    device::EventPointer last_end_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::ext
