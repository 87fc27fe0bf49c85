// A place in the order of a device's stream, for streams to wait for. Any thread.
#pragma once

namespace tutti {

class StreamEvent {
public:
    virtual ~StreamEvent() = default;
    StreamEvent(const StreamEvent&) = delete;
    StreamEvent& operator=(const StreamEvent&) = delete;

    // Later work on the stream waits for this event; the caller does not. Throws.
    virtual void hold(void* stream) const = 0;

protected:
    StreamEvent() = default;
};

// The event of an operation that moves nothing: no stream needs to wait.
class NoStreamEvent final : public StreamEvent {
public:
    void hold(void* /*stream*/) const override {}
};

}  // namespace tutti
