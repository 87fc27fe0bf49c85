// What a rank knows of the others' lives: one connection to rank 0, on which it says that it lives,
// learns where the others are, and hears why nobody can go on. The names of the dead come from here
// alone: a data connection that closes may be a survivor's. Any thread but the control loop's, on
// which the callbacks run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "protocol.hpp"
#include "store/store.hpp"

namespace tutti {

class Liveness {
public:
    struct Events {
        // Once: nobody can go on, and why. Short, must not throw.
        std::function<void(const Status&)> failed;
        // That rank has left of its own will. Short, must not throw.
        std::function<void(int rank)> left;
        // That rank died or broke off, as the verdict may say, too; but others follow after the
        // verdict. Short, must not throw.
        std::function<void(const Status&)> lost = {};
    };

    virtual ~Liveness() = default;
    Liveness(const Liveness&) = delete;
    Liveness& operator=(const Liveness&) = delete;

    // Meets rank 0, which waits for calls itself. Called on every rank; returns when rank 0 has
    // been reached.
    static std::unique_ptr<Liveness> join(const std::shared_ptr<Store>& store, int rank, int size,
                                          const Deadline& deadline, Events events);

    // The numeric addresses of this rank at which the others may call; empty: every one.
    [[nodiscard]] virtual std::vector<std::string> listening_at() const = 0;

    // The same on all ranks, and no other group's.
    [[nodiscard]] virtual std::string identity() const = 0;

    // Says where this rank's data come in (port and token; the addresses are added), and returns
    // where everyone's do, once all have come: their addresses as this host reaches them, in the
    // order to try. TIMEOUT names the ranks that are missing; a rank that dies meanwhile is
    // PEER_LOST.
    virtual std::vector<control::Seat> gather(control::Seat mine, const Deadline& deadline) = 0;

    // The data connection to that rank broke. Whether it died, left or only the line broke,
    // `failed` or `left` will tell.
    virtual void suspect(int rank, const std::string& reason) noexcept = 0;
    // This rank's call failed, so nobody can go on.
    virtual void report(const Status& cause) noexcept = 0;
    // Nothing has come for a while in this call of ours; if another rank waits in a different one,
    // that is the verdict.
    virtual void stalled(const control::Stall& stall) noexcept = 0;
    // This rank leaves of its own will; nothing it hears from now on concerns it.
    virtual void leave() noexcept = 0;

protected:
    Liveness() = default;
};

}  // namespace tutti
