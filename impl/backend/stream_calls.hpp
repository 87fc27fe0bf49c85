// Backends whose calls have a place on their callers' streams. Any thread.
#pragma once

#include "call/flat.hpp"
#include "device/driver.hpp"

namespace tutti {

class StreamCalls {
public:
    virtual ~StreamCalls() = default;
    StreamCalls(const StreamCalls&) = delete;
    StreamCalls& operator=(const StreamCalls&) = delete;

    // Puts the work that is on the stream before the call. Called before its turn; then the caller
    // may go on with the stream, unless it waits until the call is enqueued.
    void enter(FlatCall& call, void* stream, bool waits);
    // The same of a message. Throws for what the caller gave wrongly.
    virtual device::EventPointer begin(const Device& device, void* stream) = 0;

protected:
    StreamCalls() = default;
    // Puts a call on the stream itself, if it can, of a caller that waits; then it records as
    // begin() does, but for a graph. Throws as begin() does.
    virtual FlatCall::Place join(FlatCall& /*call*/, void* /*stream*/) {
        return FlatCall::Place::Beside;
    }
};

}  // namespace tutti
