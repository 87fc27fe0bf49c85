// The face of every way to move data between the ranks of a group. A group posts its collectives
// one at a time, in an order that all ranks share; messages come from any thread at any time.
// README.md says how to add a backend.
#pragma once

#include <cstdint>
#include <memory>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "call/flat.hpp"
#include "call/message.hpp"
#include "capabilities.hpp"
#include "work/work.hpp"

namespace tutti {

class InlineBackend;

// A collective, as a backend gets it. Its memory is borrowed until its work is finished.
struct Request {
    FlatCall call;
    uint64_t sequence = 0;  // counts the group's collectives; the same on all ranks
    Deadline deadline = Deadline::never();
};

class Backend {
public:
    // All works have finished.
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    // As users name it; a literal.
    [[nodiscard]] virtual const char* name() const = 0;
    // The same on all ranks and for as long as it lives. What is outside never comes here.
    [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
    // Itself, if its collectives end when the call that starts them returns.
    [[nodiscard]] virtual InlineBackend* as_inline() { return nullptr; }

    // Starts a collective and returns without waiting for another rank, unless the backend is
    // inline. The work finishes later, once; then the backend is done with the memory, on the other
    // ranks as well. Whoever finishes it holds no lock: abort() may be called from within. One call
    // at a time. Throws for what never began.
    virtual void post(Request request, std::shared_ptr<Work> work) = 0;
    // A polled backend finishes works in here; it does not wait. True if anything has moved. One
    // call at a time, on any thread, beside all other calls.
    virtual bool test() noexcept { return false; }

    // Begin a message; the work finishes from any thread, at the deadline at the latest. Throw
    // nothing but what check() could not know.
    virtual void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work);
    virtual void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work);

    // The whole message, on this thread. Throw; receive() returns the source.
    virtual void send(const Send& call, const Deadline& deadline);
    virtual int receive(const Receive& call, const Deadline& deadline);

    // Ends all that runs here, now and later, with this status; only the first counts. The works
    // finish in here or soon afterwards, those of a polled backend in test(). Any thread.
    virtual void abort(const Status& status) noexcept = 0;
    // That rank has left the group: what waits for it ends with PEER_LOST when all that it sent has
    // come. Any thread.
    virtual void left(int /*rank*/) noexcept {}
    // Before this rank leaves, of its own will or after a failure: what it has sent arrives.
    virtual void leave() noexcept {}

    // Whether collectives go through memory that all ranks see.
    [[nodiscard]] virtual bool same_memory() const { return false; }

protected:
    Backend() = default;
};

}  // namespace tutti
