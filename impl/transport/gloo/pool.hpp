// The connections of this rank to the others of its world over which groups move data by Gloo: each
// made with the first message between the two. Groups have the number that the world gave them, by
// which messages find them. Any thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gloo/transport/tcp/context.h>

#include "base/deadline.hpp"
#include "base/mutex.hpp"
#include "connection.hpp"
#include "device.hpp"
#include "membership/membership.hpp"
#include "membership/world.hpp"
#include "net/descriptor.hpp"
#include "net/socket.hpp"
#include "notices.hpp"
#include "transport/connector.hpp"
#include "transport/ended_groups.hpp"

namespace tutti::gloo_channel {

// A group's share. Ranks are those of the world. Called with locks held: short, and no call back.
class PoolUser {
public:
    // That rank's goodbye to this group, behind all that it sent.
    virtual void said_goodbye(Completions& completions, int peer) noexcept = 0;
    // Nothing more comes from that rank: the connection is gone, or the rank is and there was none.
    virtual void disconnected(Completions& completions, int peer) noexcept = 0;
    [[nodiscard]] virtual const Membership& members() const = 0;

protected:
    ~PoolUser() = default;
};

class ConnectionPool final : public ConnectionOwner {
public:
    // As World::resource() makes it.
    explicit ConnectionPool(World& world);
    // Messages that were sent arrive first, as far as the others read.
    ~ConnectionPool();
    ConnectionPool(const ConnectionPool&) = delete;
    ConnectionPool& operator=(const ConnectionPool&) = delete;

    [[nodiscard]] int rank() const { return world_.rank(); }
    [[nodiscard]] int size() const { return world_.size(); }
    [[nodiscard]] const std::shared_ptr<::gloo::transport::tcp::Context>& context() const {
        return context_;
    }

    // All members of a group call this before they send each other anything: it exchanges their
    // addresses.
    void exchange_addresses(Membership& group, const Deadline& deadline);

    // Uses the connection to that rank: now, or when there is one, which is made if need be; in
    // the order of these calls. What is still to come when the pool ends is dropped.
    using Use = std::function<void(Completions&, Connection&)>;
    template <typename Now>
    void use(Completions& completions, int peer, Now&& now) {
        Connection* const connection = of(peer).connection.load(std::memory_order_acquire);
        if (connection != nullptr) return now(completions, *connection);
        defer(completions, peer, std::forward<Now>(now));
    }
    // Null: there is none, or none yet.
    [[nodiscard]] Connection* connection(int peer) {
        return of(peer).connection.load(std::memory_order_acquire);
    }
    // Whether there is a connection, or one is being made: goodbyes come by it, or users hear
    // that it is gone.
    [[nodiscard]] bool has_begun(int peer) { return connector_->has_begun(peer); }
    // From whichever rank sends first in that slot, which is of one group.
    void receive_any(Completions& completions, Request& request, WireSlot slot);
    // Behind all that was sent to that rank for this group; when there is a connection, if there is
    // none yet.
    void send_goodbye(Completions& completions, int peer, uint32_t group_id);

    // The user gets events from now on, after those that came before.
    void attach(Completions& completions, uint32_t group_id, PoolUser& user);
    // The user gets no more events when this returns. `untidy`: messages were withdrawn.
    void detach(uint32_t group_id, const std::vector<int>& peers, bool untidy) noexcept;

private:
    struct Peer {
        std::atomic<Connection*> connection{nullptr};
        std::atomic<bool> closed{false};
        std::atomic<bool> is_dead{false};  // its line
        Mutex mutex;
        net::Descriptor kept TUTTI_GUARDED_BY(mutex);  // our end, to end or to flush it
        std::deque<Use> deferred TUTTI_GUARDED_BY(mutex);
        std::vector<uint32_t> goodbyes TUTTI_GUARDED_BY(mutex);  // behind them, by group
    };
    class Context;

    Peer& of(int peer) { return peers_[static_cast<size_t>(peer)]; }
    [[nodiscard]] const Peer& of(int peer) const { return peers_[static_cast<size_t>(peer)]; }
    void defer(Completions& completions, int peer, Use use);
    void connected(int peer, net::Socket socket) noexcept;
    Connection& adopt(Completions& completions, int peer, net::Socket socket);
    void not_connected(int peer, const Status& why) noexcept;
    void give_up(int peer, const Status& lack) noexcept;
    void lose(Completions& completions, int peer, const Status& why) noexcept;
    void tell_disconnected(Completions& completions, int peer) noexcept;
    void take_deferred(Completions& completions, int peer, Connection& connection);
    void end_dead() noexcept;
    void flush() noexcept;

    void connection_closed(Completions& completions, int peer,
                           const std::string& reason) noexcept override;
    void control_received(Completions& completions, int peer, WireSlot slot,
                          std::span<const std::byte> control) override;
    bool awaits(WireSlot slot) noexcept override;

    World& world_;
    std::vector<Peer> peers_;
    std::atomic<bool> is_ending_{false};

    Mutex mutex_;  // taken with a connection's lock held, and before a user's own
    std::map<uint32_t, PoolUser*> users_ TUTTI_GUARDED_BY(mutex_);
    std::map<uint32_t, std::vector<int>> early_goodbyes_ TUTTI_GUARDED_BY(mutex_);
    EndedGroups ended_ TUTTI_GUARDED_BY(mutex_);

    Notices notices_;
    std::shared_ptr<Device> device_;
    std::shared_ptr<::gloo::transport::tcp::Context> context_;
    const std::shared_ptr<net::Loop> loop_;
    std::optional<net::Timer> looks_;     // after connections whose line is dead; the loop's
    std::optional<Connector> connector_;  // last: its events use all of this
};

}  // namespace tutti::gloo_channel
