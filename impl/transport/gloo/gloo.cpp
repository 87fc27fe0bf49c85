// A group's channel: its messages on the connections of the pool, and its end. A rank that leaves
// sends a goodbye on each connection that it has, behind all that it sent there.
#include "gloo.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "membership/missing_ranks.hpp"
#include "pool.hpp"
#include "request.hpp"

namespace tutti::gloo_channel {

namespace {

// Ranks in the group, by ranks in the world; -1: not in it.
std::vector<int> ranks_of(const Membership& membership) {
    std::vector<int> ranks;
    for (int rank = 0; rank < membership.world().size(); ++rank) {
        ranks.push_back(membership.rank_of(rank));
    }
    return ranks;
}

// The requests under way, and which ranks it can no longer come from. Whoever tells of the latter
// may do so when the channel has gone.
class Ranks {
public:
    explicit Ranks(const Membership& membership)
        : ledger(ranks_of(membership)),
          own_(membership.rank()),
          peers_(static_cast<size_t>(membership.size())) {}

    Ledger ledger;

    // Each once all that came before has been told: completes requests.
    void said_goodbye(Completions& completions, int peer) noexcept { lose(completions, peer); }
    void disconnected(Completions& completions, int peer) noexcept {
        of(peer).is_drained = true;
        if (of(peer).has_left) lose(completions, peer);
    }
    // What it sent comes by a connection, if there is one, and its goodbye behind that. The end of
    // a connection has been told, or is going to be.
    void left(Completions& completions, int peer, bool has_connection) noexcept {
        of(peer).has_left = true;
        if (!has_connection || of(peer).is_drained) lose(completions, peer);
    }
    [[nodiscard]] bool is_gone(int peer) {
        if (peer >= 0) return of(peer).is_gone;
        if (peers_.size() == 1) return false;  // nobody has left
        for (int one = 0; one < static_cast<int>(peers_.size()); ++one) {
            if (one != own_ && !of(one).is_gone) return false;
        }
        return true;
    }

private:
    struct Peer {
        std::atomic<bool> has_left{false};
        std::atomic<bool> is_drained{false};  // nothing more comes
        std::atomic<bool> is_gone{false};     // and it has left
    };
    Peer& of(int peer) { return peers_[static_cast<size_t>(peer)]; }
    void lose(Completions& completions, int peer) noexcept {
        of(peer).is_gone = true;
        ledger.fail(completions, peer, membership::left_error(peer));
        if (is_gone(-1)) ledger.fail(completions, -1, membership::all_others_left_error());
    }

    const int own_;
    std::vector<Peer> peers_;
};

class GlooChannel final : public Channel, public PoolUser {
public:
    GlooChannel(std::shared_ptr<ConnectionPool> pool, Membership& membership)
        : Channel(membership),
          pool_(std::move(pool)),
          group_id_(membership.group_id()),
          ranks_(std::make_shared<Ranks>(membership)) {
        Completions completions;
        pool_->attach(completions, group_id_, *this);
    }

    ~GlooChannel() override {
        abort({TUTTI_ERR_ABORTED, -1, 0, "the group was destroyed"});
        ranks_->ledger.wait_until_empty();  // other threads may be letting go of theirs just now
        pool_->detach(group_id_, others(), ranks_->ledger.untidy());
    }

    [[nodiscard]] const char* name() const override { return "gloo"; }

    void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                   size_t bytes) override {
        const WireSlot wire(slot, group_id_);
        post(transfer, peer, slot, const_cast<void*>(data), bytes,
             [&](Completions& completions, Request& request) {
                 pool_->use(completions, world_rank_of(peer),
                            [wire, weak = request.weak()](Completions& open,
                                                          Connection& connection) mutable {
                                send(open, connection, weak, wire);
                            });
             });
    }
    void post_receive(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes) override {
        const WireSlot wire(slot, group_id_);
        post(transfer, peer, slot, data, bytes, [&](Completions& completions, Request& request) {
            pool_->use(
                completions, world_rank_of(peer),
                [wire, weak = request.weak()](Completions& open, Connection& connection) mutable {
                    receive(open, connection, weak, wire);
                });
        });
    }
    void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) override {
        const WireSlot wire(slot, group_id_);
        post(transfer, -1, slot, data, bytes, [&](Completions& completions, Request& request) {
            pool_->receive_any(completions, request, wire);
        });
    }

    void abort(const Status& status) noexcept override {
        {
            const Lock lock(mutex_);
            if (!aborted_.ok()) return;
            aborted_ = status;
        }
        has_aborted_ = true;
        Completions completions;
        completions.tell_however_deep();
        ranks_->ledger.fail(completions, Ledger::everything, status);
    }

    void abort_messages(const Status& status) noexcept override {
        {
            const Lock lock(mutex_);
            if (!aborted_.ok() || !messages_aborted_.ok()) return;
            messages_aborted_ = status;
        }
        has_aborted_messages_ = true;
        Completions completions;
        completions.tell_however_deep();
        ranks_->ledger.fail(completions, Ledger::messages, status);
    }

    void left(int peer) noexcept override {
        Completions completions;
        ranks_->left(completions, peer, pool_->has_begun(world_rank_of(peer)));
    }

    // After a failure the others shall learn of that, not of ranks that leave because of it.
    void leave() noexcept override {
        if (has_aborted_) return;
        Completions completions;
        for (const int rank : others()) pool_->send_goodbye(completions, rank, group_id_);
    }

private:
    [[nodiscard]] int world_rank_of(int peer) const { return membership().world_rank(peer); }

    // Ranks of the world.
    [[nodiscard]] std::vector<int> others() const {
        std::vector<int> ranks;
        for (int peer = 0; peer < size(); ++peer) {
            if (peer != rank()) ranks.push_back(world_rank_of(peer));
        }
        return ranks;
    }

    using Held = ::gloo::NonOwningPtr<::gloo::transport::tcp::UnboundBuffer>;
    static void send(Completions& completions, Connection& connection, Request::Weak& weak,
                     WireSlot wire) {
        const Held held(weak);
        if (!held) return connection.send_nothing(completions, wire);
        auto& request = static_cast<Request&>(*held.operator->());
        const bool leaves = request.leave_by(
            connection, [&] { connection.send_message(completions, request, wire); });
        if (!leaves) connection.send_nothing(completions, wire);
        request.let_go();
    }
    static void receive(Completions& completions, Connection& connection, Request::Weak& weak,
                        WireSlot wire) {
        const Held held(weak);
        if (!held) return;
        auto& request = static_cast<Request&>(*held.operator->());
        // Not request.weak(): another thread may have begun to destroy the request, and waits.
        connection.receive_message(completions, weak, wire, request.size);
        request.let_go();
    }

    template <typename Hand>
    void post(Transfer& transfer, int peer, Slot slot, void* data, size_t bytes, Hand&& hand_over) {
        if (Status why = why_aborted(slot); !why.ok()) throw Error(std::move(why));
        Completions completions;
        auto request = std::make_unique<Request>(pool_->context(), ranks_->ledger, transfer, peer,
                                                 slot, data, bytes);
        Request& posted = *request;
        transfer.hold = std::move(request);
        try {
            hand_over(completions, posted);
        } catch (const std::exception&) {
            // The connection has closed; the reason follows.
        }
        // What happened before the request was in the ledger.
        if (Status why = why_aborted(slot); !why.ok()) {
            posted.complete(completions, std::move(why), peer, 0);
        } else if (ranks_->is_gone(peer)) {
            posted.complete(
                completions,
                peer < 0 ? membership::all_others_left_error() : membership::left_error(peer), peer,
                0);
        }
    }

    // OK: such transfers are not ended.
    [[nodiscard]] Status why_aborted(Slot slot) {
        if (!has_aborted_ && (slot.is_collective() || !has_aborted_messages_)) return {};
        const Lock lock(mutex_);
        return aborted_.ok() ? messages_aborted_ : aborted_;
    }

    // By the pool. Messages that came before may have to be told still: until then, who posts must
    // not find that the rank is gone.

    void said_goodbye(Completions& completions, int world_rank) noexcept override {
        then(completions, world_rank, &Ranks::said_goodbye);
    }
    void disconnected(Completions& completions, int world_rank) noexcept override {
        then(completions, world_rank, &Ranks::disconnected);
    }
    [[nodiscard]] const Membership& members() const override { return membership(); }

    using Act = void (Ranks::*)(Completions& completions, int peer) noexcept;
    void then(Completions& completions, int world_rank, Act act) noexcept {
        const int peer = membership().rank_of(world_rank);
        if (peer < 0 || peer == rank()) return;
        completions.then([ranks = ranks_, peer, act](Completions& behind) {
            (ranks.get()->*act)(behind, peer);
        });
    }

    const std::shared_ptr<ConnectionPool> pool_;
    const uint32_t group_id_;  // in the world
    const std::shared_ptr<Ranks> ranks_;
    Mutex mutex_;
    Status aborted_ TUTTI_GUARDED_BY(mutex_);
    Status messages_aborted_ TUTTI_GUARDED_BY(mutex_);
    std::atomic<bool> has_aborted_{false};
    std::atomic<bool> has_aborted_messages_{false};  // or has, with all
};

}  // namespace

std::unique_ptr<Channel> open(Membership& membership, const Deadline& deadline) {
    auto pool = membership.world().resource<ConnectionPool>();
    pool->exchange_addresses(membership, deadline);
    return std::make_unique<GlooChannel>(std::move(pool), membership);
}

}  // namespace tutti::gloo_channel
