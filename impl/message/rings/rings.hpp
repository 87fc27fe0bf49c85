// Messages through memory that ranks of one host share: the peers, made and added to the engine
// together. Under the lock of the Messages, unless stated otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "inbox.hpp"
#include "long_data.hpp"
#include "memory/shared.hpp"
#include "message/messages.hpp"
#include "message/queues.hpp"
#include "outbox.hpp"
#include "progress/doorbell.hpp"
#include "ring.hpp"

namespace tutti::message {

class RingPeer final : public Peer {
public:
    struct Ends {
        RingView out;
        RingView in;
        Doorbell& doorbell;  // the peer's
    };
    RingPeer(Queues& queues, const Ends& ends, const Sender& sender,
             std::shared_ptr<const shm::Shared> shared)
        : matching_(queues.matching()),
          rank_(sender.rank),
          shared_(std::move(shared)),
          outbox_(queues, ends.out, ends.doorbell, *shared_),
          inbox_(queues, ends.in, ends.doorbell, sender, *shared_, outbox_, broken_) {}

    [[nodiscard]] bool is_driven() const override { return true; }
    bool begin() override {
        const bool moved = outbox_.is_busy() && outbox_.begin();
        return (matching_.wants(rank_) && inbox_.begin()) || moved;
    }
    bool advance() override {
        const bool moved = outbox_.is_busy() && outbox_.advance();
        return ((matching_.wants(rank_) || inbox_.is_streaming()) && inbox_.advance()) || moved;
    }
    [[nodiscard]] bool is_busy() const override {
        return outbox_.is_busy() || inbox_.is_streaming();
    }
    [[nodiscard]] bool is_streaming() const override {
        return outbox_.is_streaming() || inbox_.is_streaming();
    }
    void send(Sending& message) override { outbox_.add(message); }
    void withdraw(Sending& message, const Status& status) override {
        outbox_.withdraw(message, status);
    }
    bool take(Receiving& receiving, Arrival& arrival) override {
        return inbox_.take(receiving, static_cast<OfferedArrival&>(arrival));
    }
    void fail(const Status& status) override {
        outbox_.fail(status);
        inbox_.fail(status);
    }

private:
    const Matching& matching_;
    const int rank_;
    const std::shared_ptr<const shm::Shared> shared_;
    Outbox outbox_;
    Inbox inbox_;
};

// The ranks of this host that see each other's memory, this one among them.
struct Neighbours {
    struct Rank {
        int rank;             // in the group
        void* memory;         // of its rings; null: no rings reach it
        int32_t process = 0;  // in which its other memory can be read; 0: in none
    };
    std::vector<Rank> ranks;  // in the order of their rings
    LongData long_data{};
    int spins = 0;  // how often to look before others may run

    // Whether messages to and from that rank, another one, go by rings.
    [[nodiscard]] bool has(int rank) const;
    // The doorbell of that rank; null: there are no rings.
    [[nodiscard]] Doorbell* doorbell_of(int rank) const;
};

class Rings {
public:
    // Adds the peers. The memory outlives the engine.
    Rings(Messages& messages, const Neighbours& neighbours, int rank);

    // The blocks that the neighbours share by now: data in them are read in place. Any thread.
    void see(const shm::Shared& shared);

private:
    Messages& messages_;
    std::shared_ptr<shm::Shared> shared_;  // under the lock of the Messages
};

}  // namespace tutti::message
