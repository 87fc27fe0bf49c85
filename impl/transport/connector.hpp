// Connections between the ranks of a world, each made when one of the two first needs it. Both ends
// prove by a secret that they belong to the world. If both connect at once, the connection of the
// lower rank stays; a rank that cannot reach another asks it to connect in its turn, since one of
// them may be where nobody can call in. Where the network refuses the calls of both, neither will
// come. Nothing waits for a rank that has gone, except where it may have answered: its last words
// come behind that. Any thread.
//
// Here events become actions: `Attempts` decides, a few threads call, so that a call in vain holds
// up no other, and the loop hears who calls (`Acceptor`) and who answers (`Answers`).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acceptor.hpp"
#include "answers.hpp"
#include "attempts.hpp"
#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "further_calls.hpp"
#include "handshake.hpp"
#include "membership/membership.hpp"
#include "membership/world.hpp"
#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"
#include "ways.hpp"
#include "workers.hpp"

namespace tutti {

class Connector {
public:
    // Both are called without a lock of the connector, from its threads, the world's, or the
    // caller's.
    struct Events {
        std::function<void(int peer, net::Socket connection)> connected;
        // None is being made any more, and nothing has come from that rank. For a rank that is gone
        // this comes at least once more, after the world knows it, unless there is a connection.
        std::function<void(int peer, const Status& why)> failed;
        // OUT_OF_MEMORY, and instead of the one before: this process has too little for a
        // connection to that rank, or for one of a rank that has not said who it is (nobody).
        std::function<void(int peer, const Status& why)> lacking;
        // A further connection, which may come before the first one. None comes unless this is
        // given.
        FurtherCalls::Joined joined{};
    };
    static constexpr size_t handshake_bytes = sizeof(Handshake);  // what a caller says first

    // Listens from here on.
    Connector(World& world, Events events, FurtherConnections further = {});
    // Gives up pending connections; no event comes afterwards.
    ~Connector();
    Connector(const Connector&) = delete;
    Connector& operator=(const Connector&) = delete;

    // Port and secret, as text: the other ranks need it to connect.
    [[nodiscard]] std::string address() const;
    // The address() of that rank.
    void set_address(int peer, const std::string& address);
    // Each gets the others' address(). All members of the group call this.
    void exchange_addresses(Membership& group, const char* key, const Deadline& deadline);
    // Connects to that rank, whose address is set, unless that was done or has begun.
    void ensure_connected(int peer);
    // Whether there is a connection to that rank, or there was one, or one is being made: of that
    // an event follows, also if that rank goes.
    [[nodiscard]] bool has_begun(int peer);

private:
    using Endpoint = RankEndpoint;

    // Events.
    void call_back(int peer);
    void lose(int peer);
    void hear_call(const std::string& received, net::Stream& stream);
    void accept_further(int peer, net::Socket connection) noexcept;
    void accept_peer(int peer, net::Socket connection);
    void answer(int peer, net::Socket connection);
    void report_exhaustion(const Status& exhaustion);
    void take_answer(int peer, const Answers::Taken& taken, const membership::Token& answer,
                     net::Stream& stream);
    void lose_answer(int peer, Answers::Taken taken, Status why);

    // Actions. `decide` makes one of the facts, with the lock; it is carried out without.
    template <typename Decide>
    void follow(int peer, Status why, Decide&& decide);
    [[nodiscard]] Status provide_caller(int peer) TUTTI_REQUIRES(mutex_);
    void fail(int peer, Status why);
    void call_all(size_t worker) noexcept;
    void call(const Attempts::Call& call, const Endpoint& endpoint) noexcept;
    void shake_hands(const Attempts::Call& call, const Endpoint& endpoint);

    [[nodiscard]] bool has_address(int peer) const TUTTI_REQUIRES(mutex_) {
        return endpoints_[static_cast<size_t>(peer)].has_value();
    }
    [[nodiscard]] Endpoint endpoint_of(int peer) const TUTTI_REQUIRES(mutex_) {
        return endpoints_[static_cast<size_t>(peer)].value_or(Endpoint{});
    }
    // The same for ranks of one host.
    [[nodiscard]] const std::vector<std::string>& way_to(int peer) const {
        return routes_.by_rank[static_cast<size_t>(peer)];
    }

    World& world_;
    const Events events_;
    const std::shared_ptr<net::Loop> loop_;
    const net::Descriptor cancel_;  // readable: this ends
    const Routes routes_;
    Endpoint own_;

    Mutex mutex_;
    std::vector<std::optional<Endpoint>> endpoints_ TUTTI_GUARDED_BY(mutex_);  // by rank
    std::map<int, net::Socket> early_ TUTTI_GUARDED_BY(mutex_);  // calls that came before these
    Attempts attempts_ TUTTI_GUARDED_BY(mutex_);
    Condition changed_;  // attempts_
    Workers callers_ TUTTI_GUARDED_BY(mutex_);
    bool is_awaited_ TUTTI_GUARDED_BY(mutex_) = false;  // one of them waits for the next attempt

    std::optional<FurtherCalls> further_;
    std::optional<Answers> answers_;    // loop thread only
    std::optional<Acceptor> acceptor_;  // loop thread only
};

}  // namespace tutti
