// The interface of every way to move data between the ranks of a group. A group posts its
// collectives one at a time, in an order that all ranks share; messages come from any thread at any
// time. README.md says how to add a backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "call/flat.hpp"
#include "call/message.hpp"
#include "capabilities.hpp"
#include "progress/helper.hpp"
#include "work/work.hpp"

namespace tutti {

class InlineBackend;
class StreamCalls;
class SplitSteps;
struct BackendSplit;

// A collective for a backend. Its memory is borrowed until its work is finished.
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

    // The name that users give; a literal.
    [[nodiscard]] virtual const char* name() const = 0;
    // The same on all ranks, and constant. Calls beyond them never reach the backend.
    [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
    // Itself, if its collectives end when the call that starts them returns.
    [[nodiscard]] virtual InlineBackend* as_inline() { return nullptr; }
    // Itself, if its calls have a place on their callers' streams.
    [[nodiscard]] virtual StreamCalls* as_stream_calls() { return nullptr; }

    // Starts a collective and returns without waiting for another rank, unless the backend is
    // inline. The work finishes later, once; then the backend is done with the memory, on the other
    // ranks as well. The finishing thread holds no lock: abort() may be called from within. One
    // call at a time. Throws for a call that never began.
    virtual void post(Request request, std::shared_ptr<Work> work) = 0;
    // A polled backend finishes works in here, and so does one on streams; it does not wait. True
    // if anything moved. One call at a time, on any thread, concurrent with all other calls.
    virtual bool test() noexcept { return false; }
    // Whether what it has goes on without test(), in which only the end is seen. Any thread.
    [[nodiscard]] virtual bool runs_alone() const noexcept { return false; }

    // Start a message; the work finishes on any thread, at the deadline at the latest. Throw only
    // what check() could not know.
    virtual void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work);
    virtual void start(const Receive& call, const Deadline& deadline, std::shared_ptr<Work> work);

    // All of these, in their order, with a work each; one that cannot start has finished with why.
    virtual void start_batch(std::span<const Message> batch, const Deadline& deadline,
                             std::span<const std::shared_ptr<Work>> works);

    // Messages that this thread starts in between are under way at the same time.
    virtual void begin_together() noexcept {}
    virtual void end_together() noexcept {}

    // Ends a receive that was started here, if no message has come for it: true if so.
    virtual bool cancel(const Work& /*receive*/) noexcept { return false; }

    // Helps the messages that were started here; null: no thread that waits need do so.
    [[nodiscard]] virtual Helper* message_helper() noexcept { return nullptr; }

    // The whole message, on this thread. Throw; receive() returns the source.
    virtual void send(const Send& call, const Deadline& deadline);
    virtual int receive(const Receive& call, const Deadline& deadline);
    // All of these, started in their order and under way together, on this thread, until all have
    // ended; nothing if it has no such way.
    virtual std::optional<BatchEnd> run_batch(std::span<const Message> /*batch*/,
                                              const Deadline& /*deadline*/) {
        return std::nullopt;
    }

    // Ends all operations, now and later, with this status; only the first counts. The works finish
    // in here or soon afterwards, those of a polled backend in test(). Any thread.
    virtual void abort(const Status& status) noexcept = 0;
    // The same for all but collectives, of which some are to end well before an abort() follows.
    virtual void abort_messages(const Status& status) noexcept { abort(status); }
    // Rank `rank` has left the group: operations that wait for it end with PEER_LOST when all that
    // it sent has arrived. Any thread.
    virtual void left(int /*rank*/) noexcept {}
    // Before this rank leaves, of its own will or after a failure: all that it sent arrives.
    virtual void leave() noexcept {}

    // Whether it has split(): on all ranks, or on none.
    [[nodiscard]] virtual bool can_split() const { return false; }
    // Makes the backend of a group of some of this group's ranks; of a rank in no new group, none.
    // All ranks of this group call it, one call at a time, in one order, while other calls go on;
    // abort() ends it. False, on all ranks alike: not now, so it is to be opened.
    virtual bool split(const BackendSplit& /*how*/, std::unique_ptr<Backend>& /*made*/) {
        return false;
    }

    // If the capabilities have memory: some of a device, with anything in it, which goes with the
    // last that holds it. Null: the device's driver is to give some. Any thread.
    virtual std::shared_ptr<void> alloc_memory(const Device& /*device*/, size_t /*bytes*/) {
        return nullptr;
    }
    // All ranks have such memory, of as many bytes, and are about to use it in calls. All ranks of
    // the group call it, in the order of the collectives, for memory on `device`.
    virtual void share_memory(const Device& /*device*/, void* /*memory*/, SplitSteps& /*steps*/) {}

    // Whether collectives go through memory that all ranks see.
    [[nodiscard]] virtual bool same_memory() const { return false; }

protected:
    Backend() = default;
};

}  // namespace tutti
