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
    // may go on with the stream.
    void enter(FlatCall& call, void* stream);
    // The same of a message. Throws for what the caller gave wrongly.
    virtual device::EventPointer begin(const Device& device, void* stream) = 0;

protected:
    StreamCalls() = default;
};

}  // namespace tutti
