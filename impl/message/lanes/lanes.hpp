// Messages over a Channel. A sender announces a message, with short data; long data follow once the
// receiver has room. The channel is used without the lock of the Messages, and calls back on any
// thread. Pending messages end with the channel.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "message/messages.hpp"
#include "message/peer.hpp"
#include "progress/gate.hpp"
#include "transport/channel.hpp"

namespace tutti::message {

class Listening;
class Outgoing;

// Shared by all lanes of this rank.
class Lanes {
public:
    // Adds a peer for each other rank of the channel that has none yet. The channel outlives the
    // engine.
    static void add_to(Messages& messages, Channel& channel,
                       const std::function<bool(int rank)>& has_other_way);

    Lanes(Messages& messages, Channel& channel)
        : messages_(messages), channel_(channel), is_lane_(static_cast<size_t>(channel.size())) {}

    [[nodiscard]] Messages& messages() const { return messages_; }
    [[nodiscard]] Channel& channel() const { return channel_; }
    // For pending transfers of the channel: keeps the engine, and with it the lanes.
    [[nodiscard]] std::shared_ptr<Lanes> keep() { return {messages_.shared_from_this(), this}; }

    // One more, or one fewer, receive waits; any_source: for any rank. Under the lock.
    void add_waiting(Queues& queues, int source, int tag);
    void remove_waiting(int source, int tag) noexcept;
    // Posts it soon, behind those that this thread is about to post. Under the lock.
    void post_later(Queues& queues, const std::shared_ptr<Outgoing>& outgoing);
    // Those to that rank that wait for one behind them.
    void flush(int rank) noexcept;
    // An announcement has arrived, or failed. The channel calls in the order of arrival.
    void announced(const std::shared_ptr<Listening>& listening) noexcept;

    // While it lives, the channel stays: close() waits for it. Throws after that.
    class Use {
    public:
        explicit Use(Lanes& lanes) : use_(lanes.gate_) {
            if (!use_.is_open()) throw Error(TUTTI_ERR_ABORTED, "the group was destroyed");
        }

    private:
        const GateUse use_;
    };
    void close() noexcept;

private:
    using Key = std::pair<int, int>;  // source and tag
    struct Demand {
        size_t waiting = 0;  // receives
        size_t asked = 0;    // announcements that are listened for, or about to be
    };
    void ask(Queues& queues, const Key& key);
    void arrive(Queues& queues, const std::shared_ptr<Listening>& listening);
    void listen() noexcept;

    Messages& messages_;
    Channel& channel_;
    std::vector<bool> is_lane_;  // by rank
    // Under the lock of the Messages.
    std::map<Key, Demand> demands_;
    std::deque<Key> to_ask_;    // keys to post listeners for
    bool is_asking_ = false;    // a thread posts them, or is about to
    Outgoing* last_ = nullptr;  // to be posted in that round of calls
    uint64_t last_round_ = 0;

    Gate gate_;  // of transfers that the channel has
};

// An announced message that no receive has taken yet.
struct AnnouncedArrival final : Arrival {
    AnnouncedArrival(int from, std::shared_ptr<Listening> with);
    const std::shared_ptr<Listening> listening;
};

class LanePeer final : public Peer {
public:
    LanePeer(Queues& queues, std::shared_ptr<Lanes> lanes, int rank)
        : queues_(queues), lanes_(std::move(lanes)), rank_(rank) {}

    [[nodiscard]] bool is_driven() const override { return false; }
    void send(Sending& message) override;
    void withdraw(Sending& message, const Status& status) override;
    bool take(Receiving& receiving, Arrival& arrival) override;
    void add_waiting(int tag) override { lanes_->add_waiting(queues_, rank_, tag); }
    void remove_waiting(int tag) noexcept override { lanes_->remove_waiting(rank_, tag); }
    void close() noexcept override { lanes_->close(); }

private:
    Queues& queues_;
    const std::shared_ptr<Lanes> lanes_;
    const int rank_;
    // Sends of one round leave together, as far as they are short.
    static constexpr size_t most_together = size_t{8} * 1024;
    uint64_t sent_ = 0;
    Outgoing* before_ = nullptr;  // the last one of that round
    uint64_t round_ = 0;
    size_t together_ = 0;  // bytes since one that leaves by itself
};

}  // namespace tutti::message
