// Connections between the ranks of a world, each made when one of the two first needs it. Both ends
// prove by a secret that they belong to the world. If both connect at once, the connection of the
// lower rank stays; a rank that cannot reach another asks it to connect in its turn, since one of
// them may be where nobody can call in. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "membership/world.hpp"
#include "net/descriptor.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"
#include "net/strangers.hpp"
#include "net/stream.hpp"

namespace tutti {

class Connector {
public:
    // Both are called without a lock, from a thread of the connector's or the caller of know().
    struct Events {
        std::function<void(int peer, net::Socket connection)> connected;
        std::function<void(int peer, const Status& why)> failed;
    };
    // Listens from here on.
    Connector(World& world, Events events);
    // Gives up what is under way; no event comes afterwards.
    ~Connector();
    Connector(const Connector&) = delete;
    Connector& operator=(const Connector&) = delete;

    // What the other ranks must know to connect: port and secret, as text.
    [[nodiscard]] std::string address() const;
    // What that rank said.
    void know(int peer, const std::string& address);
    // Connects to that rank, which is known, unless that was done or is under way.
    void want(int peer);
    // Whether there is a connection to that rank, or one is being made, or there was one.
    [[nodiscard]] bool has_begun(int peer);

private:
    struct Endpoint {
        int port = 0;
        membership::Token secret{};
    };
    enum class State {
        None,
        Calling,
        Greeting,  // calling, and somebody answers
        Awaiting,  // the other's call takes the place of this rank's
        Connected
    };
    struct Attempt {  // to call a rank
        Deadline::Clock::time_point next;
        int64_t patience_ms;
        Deadline until;
    };
    struct Peer {
        State state = State::None;
        bool known = false;
        Endpoint endpoint;
        net::Socket early;  // it has connected before it was known
    };
    struct Visitor {  // on the loop
        std::unique_ptr<net::Stream> stream;
        std::string heard;
    };

    void accept(int descriptor);
    bool make_room();
    void hear(int visitor, std::span<const std::byte> bytes);
    void admit(net::Socket connection, const std::string& greeting);
    void answer(int peer, net::Socket connection);
    Status start_calling(int peer) TUTTI_REQUIRES(mutex_);
    void fail(int peer, Status why);
    [[nodiscard]] bool is_gone(int peer) const;
    void hear_answer(int peer, net::Socket& connection, std::span<std::byte> answer,
                     const Deadline& deadline);
    void call_back(int peer);
    void call_all() noexcept;
    void try_to_call(int peer, const Endpoint& endpoint, const Attempt& attempt) noexcept;
    void call(int peer, const Endpoint& endpoint, const Deadline& deadline);
    bool enter(int peer, State state);
    bool greet(int peer, const Endpoint& endpoint, net::Socket& connection, bool is_last);

    World& world_;
    const Events events_;
    const std::shared_ptr<net::Loop> loop_;
    const net::Descriptor cancel_;  // readable: this ends
    Routes routes_;
    Endpoint own_;

    Mutex mutex_;
    std::vector<Peer> peers_ TUTTI_GUARDED_BY(mutex_);
    std::map<int, Attempt> attempts_ TUTTI_GUARDED_BY(mutex_);  // by rank, for the thread
    Condition changed_;
    bool is_calling_ TUTTI_GUARDED_BY(mutex_) = false;
    bool is_ending_ TUTTI_GUARDED_BY(mutex_) = false;
    std::thread caller_ TUTTI_GUARDED_BY(mutex_);

    // loop thread only
    int last_visitor_ = 0;
    std::map<int, Visitor> visitors_;
    net::Strangers<int> strangers_;  // all of them
    std::unique_ptr<net::Listener> listener_;
};

}  // namespace tutti
