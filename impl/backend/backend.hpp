// The face of every way to move data between the ranks of a group. A group calls run() one
// collective at a time, in an order all ranks share; messages come from any thread at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "branch.hpp"
#include "call/call.hpp"
#include "store/store.hpp"
#include "work/work.hpp"

namespace tutti {

class Backend {
public:
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    [[nodiscard]] virtual const char* name() const = 0;

    // The whole collective, on this thread. `number` counts the group's collectives and is the same
    // on all ranks. Throws.
    virtual void run(const Collective& call, uint64_t number, const Deadline& deadline) = 0;

    // Begin a message; the work finishes from any thread, at the deadline at the latest. Throw
    // nothing but what check() could not know.
    virtual void start(const Send& call, const Deadline& deadline, std::shared_ptr<Work> work) = 0;
    virtual void start(const Receive& call, const Deadline& deadline,
                       std::shared_ptr<Work> work) = 0;

    // The whole message, on this thread. Throw; receive() returns the source.
    virtual void send(const Send& call, const Deadline& deadline);
    virtual int receive(const Receive& call, const Deadline& deadline);

    // A call of this rank failed, so the group cannot go on: tells the other ranks. Any thread.
    virtual void report(const Status& cause) noexcept = 0;
    // Ends all that runs here, now and later, with this status; only the first counts. Any thread.
    virtual void abort(const Status& status) noexcept = 0;
    // This rank leaves of its own will: what it has sent arrives. Before the destruction, and after
    // a failure only once that was reported.
    virtual void leave() noexcept = 0;

    // What each rank says, by rank: once, before the first collective. Throws as run() does.
    virtual std::vector<uint32_t> tell_all(uint32_t mine, const Deadline& deadline) = 0;

    // Whether what goes to `peer`, another rank, stays on this host.
    [[nodiscard]] virtual bool same_host(int /*peer*/) const { return false; }
    // Whether collectives go through memory that all ranks see.
    [[nodiscard]] virtual bool same_memory() const { return false; }
    // The same on all ranks, and no other group's at the same store; "": nothing is.
    [[nodiscard]] virtual std::string identity() const { return {}; }
    // Why this rank cannot count on `peer`, itself included: an abort, or that one left. Any
    // thread.
    [[nodiscard]] virtual Status trouble(int /*peer*/) const { return {}; }

    // Groups of some of its ranks that share its connections, in two steps: every member reserves,
    // and all learn what the others' reservations said; then each branches, or cancels. Nothing
    // from the first step: it cannot. Any thread.
    virtual std::optional<std::string> reserve(const std::string& /*path*/) { return {}; }
    virtual void cancel(const std::string& /*path*/) noexcept {}
    virtual std::unique_ptr<Backend> branch(const Branch& /*branch*/) { return nullptr; }

protected:
    Backend() = default;
};

}  // namespace tutti
