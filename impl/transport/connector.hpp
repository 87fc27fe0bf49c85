// Connections between the ranks of a world, each made when one of the two first needs it. Both ends
// prove by a secret that they belong to the world. If both connect at once, the connection of the
// lower rank stays; a rank that cannot reach another asks it to connect in its turn, since one of
// them may be where nobody can call in. Where the network refuses the calls of both, neither will
// come. A few threads call, so that a call in vain holds up no
// other; who it is that answers the loop hears, for that may take as long as a rank is stopped.
// Nothing waits for a rank that has gone, except where it may have answered: its last words come
// behind that. Any thread.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "membership/membership.hpp"
#include "membership/world.hpp"
#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/pending_peers.hpp"
#include "net/socket.hpp"
#include "net/stream.hpp"
#include "ways.hpp"

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
        // A further connection, which may come before the first one. With a proof, it is that
        // rank's only if the proof comes on it before all else. None comes unless this is given.
        std::function<void(int peer, net::Socket connection,
                           const std::optional<membership::Token>& proof)>
            joined{};
    };
    static constexpr size_t handshake_bytes = 32;  // what a caller says first

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
    static constexpr size_t most_connecting = 8;
    // The answer to a call that the other side's replaces.
    static constexpr membership::Token dropped{};
    struct Endpoint {
        int port = 0;
        membership::Token secret{};
    };
    enum class State {
        None,
        Connecting,
        ShakingHands,  // connected, until the other side has answered
        AwaitingPeer,  // the peer's own connection replaces this rank's
        Connected
    };
    struct Attempt {  // to connect to a rank
        Deadline::Clock::time_point next;
        int64_t timeout_ms;
        Deadline until;
        std::vector<std::string> strangers{};  // hosts at whose addresses somebody else answers
        bool is_under_way = false;             // a thread sees to it
    };
    struct Worker {  // ends when it has nothing more to do
        std::thread thread;
        bool is_running = false;
    };
    struct Peer {
        State state = State::None;
        bool known = false;
        Endpoint endpoint;
        net::Socket early;  // its connection came before its address
        // How often it has asked to be called, since this rank began to call: its calls fail, too.
        int asked = 0;
    };
    struct Caller {
        int rank;
        bool joins;  // has a connection already
    };
    struct FurtherCall {
        int peer;
        Way way;
    };
    struct Incoming {  // on the loop
        std::unique_ptr<net::Stream> stream;
        std::string received;
    };
    struct Greeted {  // somebody answers, who has not said yet that it is that rank; on the loop
        std::unique_ptr<net::Stream> stream;
        std::string received;
        std::string host;
        bool is_last;  // of the addresses
        Deadline until;
        Attempt then;  // if it is another one
    };

    void accept(int descriptor);
    bool make_room(const Status& exhaustion);
    void keep_spare() noexcept;
    [[nodiscard]] bool expects_anyone();
    void receive(int incoming, std::span<const std::byte> bytes);
    [[nodiscard]] Caller find_caller(const std::string& handshake) const;
    void take_call(const Incoming& incoming);
    void accept_further(int peer, net::Socket connection) noexcept;
    void accept_peer(int peer, net::Socket connection);
    void answer(int peer, net::Socket connection);
    void call_instead(int peer);
    Status start_connecting(int peer, Attempt attempt) TUTTI_REQUIRES(mutex_);
    void keep_running(Worker& worker, void (Connector::*work)(Worker&) noexcept)
        TUTTI_REQUIRES(mutex_);
    void keep_connecting() TUTTI_REQUIRES(mutex_);
    std::map<int, Attempt>::iterator next_attempt() TUTTI_REQUIRES(mutex_);
    void fail(int peer, Status why);
    // The same for ranks of one host.
    [[nodiscard]] const std::vector<std::string>& way_to(int peer) const {
        return routes_.by_rank[static_cast<size_t>(peer)];
    }
    static Attempt first_attempt();
    Status begin_connecting(int peer, Attempt attempt) TUTTI_REQUIRES(mutex_);
    [[nodiscard]] bool is_closed_way(int peer, const Status& why) const TUTTI_REQUIRES(mutex_);
    void connect_back(int peer);
    void give_up(int peer);
    void connect_all(Worker& worker) noexcept;
    void connect(int peer, const Endpoint& endpoint, const Attempt& attempt, Attempt then) noexcept;
    void shake_hands(int peer, const Endpoint& endpoint, const Attempt& attempt, Attempt& then);
    void call_again(int peer, Attempt attempt, Status why) noexcept;
    void want_further(int peer, const net::Socket& first) noexcept;
    void call_all_further(Worker& worker) noexcept;
    void call_further(const FurtherCall& call) noexcept;
    [[nodiscard]] int descriptors_kept() const;
    bool advance(int peer, State from, State to);

    void await_answer(int peer, Greeted greeted, int descriptor) noexcept;
    void receive_answer(int peer, std::span<const std::byte> bytes) noexcept;
    void take_answer(int peer, Greeted& greeted);
    void miss_answers() noexcept;
    void lose_answer(int peer, Greeted greeted, Status why) noexcept;
    bool is_greeting(int peer);

    World& world_;
    const Events events_;
    const FurtherConnections further_;
    const std::shared_ptr<net::Loop> loop_;
    const net::Descriptor cancel_;  // readable: this ends
    Routes routes_;
    Endpoint own_;

    Mutex mutex_;
    std::vector<Peer> peers_ TUTTI_GUARDED_BY(mutex_);
    std::map<int, Attempt> attempts_ TUTTI_GUARDED_BY(mutex_);        // by rank, for the threads
    std::deque<FurtherCall> further_calls_ TUTTI_GUARDED_BY(mutex_);  // for a thread of their own
    // Ways on which a call did not come through: who is behind one is asked to call at once, which
    // it would be anyway, later. This rank calls only if that does not help.
    std::set<std::vector<std::string>> hidden_ TUTTI_GUARDED_BY(mutex_);
    Condition changed_;
    std::array<Worker, most_connecting> connecting_ TUTTI_GUARDED_BY(mutex_);
    bool is_awaited_ TUTTI_GUARDED_BY(mutex_) = false;  // one of them waits for the next attempt
    bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
    Worker further_worker_ TUTTI_GUARDED_BY(mutex_);

    // loop thread only
    // Given up to hear who calls when no other is left: only then it is known whom that concerns.
    net::Descriptor spare_;
    int last_incoming_ = 0;
    std::map<int, Incoming> incoming_;
    std::map<int, Greeted> greeted_;    // by rank
    std::optional<net::Timer> looks_;   // after those who do not answer
    net::PendingPeers<int> strangers_;  // all of them
    std::unique_ptr<net::Listener> listener_;
};

}  // namespace tutti
