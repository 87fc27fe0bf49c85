// The further connections to ranks, beside the first ones. This rank calls those to whom it has
// made the first one, on a thread that ends when it has called all; the others call it. None of
// them must succeed. Any thread.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "membership/world.hpp"
#include "net/socket.hpp"
#include "ways.hpp"
#include "workers.hpp"

namespace tutti {

class FurtherCalls {
public:
    // Is called without a lock. With a proof, the connection is that rank's only if the proof
    // comes on it before all else.
    using Joined = std::function<void(int peer, net::Socket connection,
                                      const std::optional<membership::Token>& proof)>;
    // Without `joined` there is none. `cancel` is readable when this ends.
    FurtherCalls(const World& world, FurtherConnections wanted, const membership::Token& own,
                 Joined joined, int cancel);

    // There is a first connection, which this rank has made. `way` has the hosts of that rank.
    void call(int peer, const std::vector<std::string>& way, const membership::Token& secret,
              const net::Socket& first) noexcept;
    // That rank has called, and has proved who it is. It waits for its secret.
    void accept(int peer, const membership::Token& secret, net::Socket connection) noexcept;
    // Calls no more.
    void end() noexcept;
    // Then, once `cancel` is readable: no event comes afterwards.
    void join() noexcept;

private:
    struct Call {
        int peer;
        membership::Token secret;
        Way way;
    };

    void add(int peer, const std::vector<std::string>& way, const membership::Token& secret,
             const net::Socket& first);
    void call_all(size_t worker) noexcept;
    void call(const Call& call) noexcept;
    [[nodiscard]] bool may_open_more() const;

    const World& world_;
    const FurtherConnections wanted_;
    const membership::Token own_;
    const Joined joined_;
    const int cancel_;

    Mutex mutex_;
    std::deque<Call> calls_ TUTTI_GUARDED_BY(mutex_);
    Workers workers_ TUTTI_GUARDED_BY(mutex_);
    bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
};

}  // namespace tutti
