// The membership tells why a connection closed. Until then its messages stay in flight, so a caller
// learns of the rank that died, not of the neighbour that closed its connections because of that.
#include "pool.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "net/line.hpp"
#include "transport/delivery.hpp"
#include "transport/shortage.hpp"

namespace tutti::gloo_channel {

namespace {

namespace tcp = ::gloo::transport::tcp;

}  // namespace

class ConnectionPool::Context : public tcp::Context {
public:
    Context(const Device& device, int own_rank, int ranks, ConnectionOwner& owner, Notices& notices)
        : tcp::Context(device.gloo(), own_rank, ranks), owner_(owner), notices_(notices) {}

    Connection& add_connection(Completions& completions, int peer, int descriptor) {
        auto connection = std::make_unique<Connection>(this, device_.get(), peer, owner_, notices_);
        Connection& added = *connection;
        pairs_[static_cast<size_t>(peer)] = std::move(connection);
        added.adopt(completions, descriptor);
        return added;
    }

private:
    ConnectionOwner& owner_;
    Notices& notices_;
};

ConnectionPool::ConnectionPool(World& world)
    : world_(world),
      peers_(static_cast<size_t>(world.size())),
      device_(Device::shared()),
      context_(std::make_shared<Context>(*device_, world.rank(), world.size(), *this, notices_)),
      loop_(net::Loop::shared()) {
    connector_.emplace(
        world, Connector::Events{
                   [this](int peer, net::Socket socket) { connected(peer, std::move(socket)); },
                   [this](int peer, const Status& why) { not_connected(peer, why); },
                   [this](int peer, const Status& lack) { give_up(peer, lack); }});
    loop_->run([this] {
        looks_.emplace(*loop_, [this] { end_dead(); });
        looks_->start(net::line_look_ms(), net::line_look_ms());
    });
}

ConnectionPool::~ConnectionPool() {
    is_ending_ = true;
    connector_.reset();
    loop_->run([this] { looks_.reset(); });
    {
        const Device::Hurry hurry(*device_);
        const Completions completions;  // connections close
        context_.reset();
    }
    flush();
}

void ConnectionPool::exchange_addresses(Membership& group, const Deadline& deadline) {
    connector_->exchange_addresses(group, "transport/gloo", deadline);
}

void ConnectionPool::defer(Completions& completions, int peer, Use use) {
    Peer& there = of(peer);
    {
        const Lock lock(there.mutex);
        if (there.connection.load(std::memory_order_relaxed) == nullptr) {
            there.deferred.push_back(std::move(use));
            use = nullptr;
        }
    }
    if (use) return use(completions, *connection(peer));
    connector_->ensure_connected(peer);
}

void ConnectionPool::connected(int peer, net::Socket socket) noexcept {
    Completions completions;
    try {
        Connection& connection = adopt(completions, peer, std::move(socket));
        take_deferred(completions, peer, connection);
    } catch (...) {
        Status why = current_status();
        if (why.code == TUTTI_ERR_OUT_OF_MEMORY) {
            of(peer).closed = true;
            give_up(peer, why);
            return tell_disconnected(completions, peer);
        }
        why.rank = peer;
        lose(completions, peer, why);
    }
}

Connection& ConnectionPool::adopt(Completions& completions, int peer, net::Socket socket) {
    net::Descriptor kept(
        open_tracked([&] { return fcntl(socket.descriptor(), F_DUPFD_CLOEXEC, 0); }));
    if (!kept.valid()) {
        const int error = errno;
        throw system_error(TUTTI_ERR_OUT_OF_MEMORY,
                           cat("rank ", rank(), " cannot connect to rank ", peer), error);
    }
    {
        Peer& there = of(peer);
        const Lock lock(there.mutex);
        there.kept = std::move(kept);
    }
    return static_cast<Context&>(*context_).add_connection(completions, peer, socket.release());
}

// A rank that goes later is told of again.
void ConnectionPool::not_connected(int peer, const Status& why) noexcept {
    Completions completions;
    if (!world_.is_gone(peer)) return world_.suspect(why);
    tell_disconnected(completions, peer);
}

// This rank lacks what the connection needs: the groups that it is for cannot go on, and no other
// rank is to blame.
void ConnectionPool::give_up(int peer, const Status& lack) noexcept {
    std::map<uint32_t, OwnPart> groups;
    {
        const Lock lock(mutex_);
        for (const auto& [group_id, user] : users_) {
            const Membership& members = user->members();
            const bool is_for = peer == membership::nobody || members.rank_of(peer) >= 0;
            if (is_for) groups.emplace(group_id, OwnPart(members));
        }
    }
    report_shortage(world_, groups, lack);
}

// A rank that closes its connection takes its notices with it.
void ConnectionPool::receive_any(Completions& completions, Request& request, WireSlot slot) {
    for (;;) {
        Connection* const first =
            notices_.first_or_wait(slot.value(), {request.weak(), request.size});
        if (first == nullptr) return;
        try {
            if (first->try_receive(completions, request, slot)) return;
        } catch (const std::exception&) {
            if (!first->closed()) throw;
        }
    }
}

void ConnectionPool::send_goodbye(Completions& completions, int peer, uint32_t group_id) {
    Peer& there = of(peer);
    {
        const Lock lock(there.mutex);
        if (there.connection.load(std::memory_order_relaxed) == nullptr) {
            there.goodbyes.push_back(group_id);
            return;
        }
    }
    connection(peer)->send_control(completions, WireSlot::control(group_id), "bye");
}

// Later calls are deferred as well, and so come behind.
void ConnectionPool::take_deferred(Completions& completions, int peer, Connection& connection) {
    Peer& there = of(peer);
    for (;;) {
        std::deque<Use> uses;
        std::vector<uint32_t> goodbyes;
        {
            const Lock lock(there.mutex);
            uses.swap(there.deferred);
            goodbyes.swap(there.goodbyes);
            if (uses.empty() && goodbyes.empty()) {
                there.connection.store(&connection, std::memory_order_release);
                return;
            }
        }
        for (const Use& use : uses) {
            try {
                use(completions, connection);
            } catch (const std::exception&) {
                // The connection has closed; the reason follows.
            }
        }
        for (const uint32_t group_id : goodbyes) {
            connection.send_control(completions, WireSlot::control(group_id), "bye");
        }
    }
}

void ConnectionPool::attach(Completions& completions, uint32_t group_id, PoolUser& user) {
    const Lock lock(mutex_);
    users_[group_id] = &user;
    if (const auto early = early_goodbyes_.extract(group_id)) {
        for (const int peer : early.mapped()) user.said_goodbye(completions, peer);
    }
    for (int peer = 0; peer < size(); ++peer) {
        if (of(peer).closed) user.disconnected(completions, peer);
    }
}

void ConnectionPool::detach(uint32_t group_id, const std::vector<int>& peers,
                            bool untidy) noexcept {
    {
        const Lock lock(mutex_);
        users_.erase(group_id);
        early_goodbyes_.erase(group_id);
        ended_.add(group_id);
    }
    if (group_id == 0 || !untidy) return;
    for (const int peer : peers) {
        if (Connection* const there = connection(peer)) there->forget(group_id);
    }
    notices_.forget(group_id);
}

// Any thread that uses the connection, with its lock.

void ConnectionPool::connection_closed(Completions& completions, int peer,
                                       const std::string& reason) noexcept {
    lose(completions, peer,
         {TUTTI_ERR_PEER_LOST, peer, 0,
          cat("the connection between rank ", rank(), " and rank ", peer,
              " broke: ", of(peer).is_dead ? errno_text(ETIMEDOUT) : reason)});
}

// There is no other connection to that rank.
void ConnectionPool::lose(Completions& completions, int peer, const Status& why) noexcept {
    if (is_ending_) return;
    of(peer).closed = true;
    if (!world_.has_departed(peer)) world_.suspect(why);
    tell_disconnected(completions, peer);
}

void ConnectionPool::tell_disconnected(Completions& completions, int peer) noexcept {
    const Lock lock(mutex_);
    for (const auto& [group_id, user] : users_) user->disconnected(completions, peer);
}

// A control message is a goodbye, whatever its text.
void ConnectionPool::control_received(Completions& completions, int peer, WireSlot slot,
                                      std::span<const std::byte> /*control*/) {
    const Lock lock(mutex_);
    const auto found = users_.find(slot.group());
    if (found != users_.end()) return found->second->said_goodbye(completions, peer);
    early_goodbyes_[slot.group()].push_back(peer);
}

// Groups that this rank has not made yet, others may have made.
bool ConnectionPool::awaits(WireSlot slot) noexcept {
    if (slot.group() == 0) return true;
    const Lock lock(mutex_);
    return !ended_.contains(slot.group());
}

// Gloo's thread sees the end, and says so. On the loop's thread.
void ConnectionPool::end_dead() noexcept {
    for (int peer = 0; peer < size(); ++peer) {
        Peer& there = of(peer);
        if (there.closed || there.is_dead || world_.same_host(peer)) continue;
        const Lock lock(there.mutex);
        if (!there.kept.valid() || !net::is_dead(there.kept.get())) continue;
        there.is_dead = true;
        (void)::shutdown(there.kept.get(), SHUT_RDWR);
    }
}

// Ranks that are lost, or have closed their ends, read nothing more.
void ConnectionPool::flush() noexcept {
    std::map<int, int> ranks;  // by socket
    std::vector<int> sockets;
    for (int rank = 0; rank < size(); ++rank) {
        Peer& there = of(rank);
        const Lock lock(there.mutex);
        if (!there.kept.valid()) continue;
        sockets.push_back(there.kept.get());
        ranks[sockets.back()] = rank;
    }
    const auto is_of_use = [&](int socket) {
        const int rank = ranks.at(socket);
        return !of(rank).closed && world_.loss_of(rank).ok();
    };
    deliver(sockets, is_of_use, Deadline::after_ms(world_.leave_ms()));
}

}  // namespace tutti::gloo_channel
