// The membership tells why a connection closed. Until then its messages stay in flight, so a caller
// learns of the rank that died, not of the neighbour that closed its connections because of that.
#include "pool.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/resource_limits.hpp"

namespace tutti::gloo_channel {

namespace {

namespace tcp = ::gloo::transport::tcp;

}  // namespace

class ConnectionPool::Context : public tcp::Context {
public:
    Context(const Device& device, int own_rank, int ranks, ConnectionOwner& owner)
        : tcp::Context(device.gloo(), own_rank, ranks), owner_(owner) {}

    Connection& add_connection(Completions& completions, int peer, int descriptor) {
        auto connection = std::make_unique<Connection>(this, device_.get(), peer, owner_);
        Connection& added = *connection;
        pairs_[static_cast<size_t>(peer)] = std::move(connection);
        added.adopt(completions, descriptor);
        return added;
    }

    // Gloo counts what was announced and not taken, by slot: what nobody of that group will take.
    void forget(uint32_t group_id, const std::vector<int>& peers) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::erase_if(pendingRecv_,
                      [=](const auto& entry) { return WireSlot(entry.first).group() == group_id; });
        for (auto* const tallies : {&pendingOperations_, &expectedNotifications_}) {
            for (auto& tally : *tallies) {
                if (WireSlot(tally.slot).group() == group_id) forget(tally, peers);
            }
            std::vector<Tally> left;
            for (auto& tally : *tallies) {
                if (!tally.empty()) left.push_back(tally);
            }
            tallies->swap(left);
        }
    }

private:
    template <typename Counts>
    static void forget(Counts& tally, const std::vector<int>& peers) {
        while (!tally.getSendList().empty()) tally.shiftSend(tally.getSendList().front());
        for (const int peer : peers) {
            while (tally.shiftRecv(peer)) {
            }
        }
    }

    ConnectionOwner& owner_;
};

ConnectionPool::ConnectionPool(World& world)
    : world_(world),
      peers_(static_cast<size_t>(world.size())),
      device_(Device::shared()),
      context_(std::make_shared<Context>(*device_, world.rank(), world.size(), *this)) {
    connector_.emplace(
        world, Connector::Events{
                   [this](int peer, net::Socket socket) { connected(peer, std::move(socket)); },
                   [this](int peer, const Status& why) { not_connected(peer, why); },
                   [this](int peer, const Status& lack) { give_up(peer, lack); }});
}

ConnectionPool::~ConnectionPool() {
    is_ending_ = true;
    connector_.reset();
    {
        const Device::Hurry hurry(*device_);
        const Completions completions;  // connections close
        context_.reset();
    }
    flush();
}

void ConnectionPool::exchange_addresses(Membership& group, const Deadline& deadline) {
    const auto addresses = group.all_gather("transport/gloo", connector_->address(), deadline);
    for (int rank = 0; rank < group.size(); ++rank) {
        if (rank != group.rank()) {
            connector_->set_address(group.world_rank(rank), addresses[static_cast<size_t>(rank)]);
        }
    }
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
    of(peer).kept = std::move(kept);
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
    std::map<uint32_t, int> groups;  // with the rank that this process has there
    {
        const Lock lock(mutex_);
        for (const auto& [group_id, user] : users_) {
            const Membership& members = user->members();
            const bool is_for = peer == membership::nobody || members.rank_of(peer) >= 0;
            if (is_for) groups.emplace(group_id, members.rank());
        }
    }
    for (const auto& [group_id, own] : groups) {
        Status cause = lack;
        cause.rank = own;
        if (group_id != 0) {
            cause.message += cat("; global rank ", rank(), " is rank ", own, " of this group");
        }
        world_.send(membership::encode(membership::Kind::Report, group_id, cause));
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
        // Ranges that meet become one, so a long row of groups costs one entry.
        uint32_t last = group_id;
        if (const auto after = ended_.find(group_id + 1); after != ended_.end()) {
            last = after->second;
            ended_.erase(after);
        }
        const auto next = ended_.upper_bound(group_id);
        if (next != ended_.begin() && std::prev(next)->second + 1 == group_id) {
            std::prev(next)->second = last;
        } else {
            ended_[group_id] = last;
        }
    }
    if (group_id == 0 || !untidy) return;
    for (const int peer : peers) {
        if (Connection* const there = connection(peer)) there->forget(group_id);
    }
    static_cast<Context&>(*context_).forget(group_id, peers);
}

// Any thread that uses the connection, with its lock.

void ConnectionPool::connection_closed(Completions& completions, int peer,
                                       const std::string& reason) noexcept {
    lose(completions, peer,
         {TUTTI_ERR_PEER_LOST, peer, 0,
          cat("the connection between rank ", rank(), " and rank ", peer, " broke: ", reason)});
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
    const auto after = ended_.upper_bound(slot.group());
    return after == ended_.begin() || std::prev(after)->second < slot.group();
}

// What this rank has sent and the kernel still holds is delivered before the sockets go.
void ConnectionPool::flush() noexcept {
    for (const Peer& peer : peers_) {
        if (peer.kept.valid()) shutdown(peer.kept.get(), SHUT_WR);
    }
    const Deadline flush_deadline = Deadline::after_ms(world_.leave_ms());
    while (has_unsent() && !flush_deadline.expired()) {
        poll(nullptr, 0, 1);  // the kernel has no event for it
    }
}

// For ranks that are alive, and had not closed their ends: nobody would read it there.
bool ConnectionPool::has_unsent() noexcept {
    bool found = false;
    for (int rank = 0; rank < size(); ++rank) {
        const int socket = of(rank).kept.get();
        if (!of(rank).kept.valid() || of(rank).closed || !world_.loss_of(rank).ok()) continue;
        // Input that nobody read would make the kernel drop our output.
        std::array<char, 4096> nowhere;
        while (recv(socket, nowhere.data(), nowhere.size(), MSG_DONTWAIT) > 0) {
        }
        int unsent = 0;
        found |= ioctl(socket, SIOCOUTQ, &unsent) == 0 && unsent > 0;
    }
    return found;
}

}  // namespace tutti::gloo_channel
