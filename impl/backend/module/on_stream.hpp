// The calls that a backend from outside puts on a stream of its own, which the host makes: all on
// one device, that of the first call. Any thread.
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
    OnStream() = default;
    ~OnStream();
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;

    // Records the present end of a caller's stream. Throws for another device than the first.
    device::EventPointer begin(const Device& device, void* stream);
    // The backend's stream, which waits for what the call's caller had before it.
    void* stream(const PostedCall& call);
    // The work knows its end on the stream then. Throws if the device has failed.
    void enqueued(const std::shared_ptr<PostedCall>& call);
    [[nodiscard]] size_t size() const;
    // Calls `ends` with those that the device has done, in their order, without a lock; true if
    // there were any. One call at a time. Throws if the device has failed.
    bool look(const std::function<void(PostedCall&)>& ends);
    // The device may use their memory for ever.
    void give_up() noexcept;

private:
    struct Ending {
        std::shared_ptr<PostedCall> call;
        device::EventPointer end;
    };

    mutable Mutex mutex_;
    device::Driver* driver_ TUTTI_GUARDED_BY(mutex_) = nullptr;  // null: no call has come
    int device_ TUTTI_GUARDED_BY(mutex_) = 0;
    void* stream_ TUTTI_GUARDED_BY(mutex_) = nullptr;
    std::deque<Ending> endings_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::ext
