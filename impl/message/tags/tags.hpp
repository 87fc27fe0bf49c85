// Messages over a channel that carries tags itself (transport/tagged.hpp). All but happened() and
// flush() is under the lock of the Messages; the channel's locks come after it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "message/matching.hpp"
#include "message/messages.hpp"
#include "message/operation.hpp"
#include "message/peer.hpp"
#include "message/queues.hpp"
#include "progress/gate.hpp"
#include "transport/channel.hpp"
#include "transport/tagged.hpp"

namespace tutti::message {

// A message that no receive has taken yet, until its channel has it again.
struct TaggedMessage {
    TaggedArrival* arrival;
    uint32_t type;
    size_t bytes;
};

// Shared by all tagged peers of this rank.
class Tags final : public TaggedMessages::Listener {
public:
    // Adds a peer for each other rank of the channel that has none yet. The channel, which carries
    // tags, outlives the engine.
    static void add_to(Messages& messages, Channel& channel,
                       const std::function<bool(int rank)>& has_other_way);

    Tags(Messages& messages, TaggedMessages& channel, int size)
        : messages_(messages), channel_(channel), gone_(static_cast<size_t>(size)) {}

    void happened() noexcept override;
    void flush() noexcept { channel_.flush(); }
    // Handles what has happened until now, and nothing more.
    void close() noexcept;

    void send(Sending& message);
    // True: nothing of it has moved.
    [[nodiscard]] bool stop(const Sending& message) noexcept;
    // False: the sender has withdrawn it. In any case the channel has it again.
    bool take(Queues& queues, Receiving& receiving, int source, const TaggedMessage& message);
    void drop(TaggedArrival& arrival) noexcept { channel_.drop(arrival); }
    // One more receive of that source, which may be any, waits. Throws why no message will come.
    void add_waiting(int source);
    void remove_waiting() noexcept { channel_.expect(-1); }

private:
    using Event = TaggedMessages::Event;
    void handle(Queues& queues);
    void handle(Queues& queues, const Event& event);
    void came(Queues& queues, const Event& event);
    static void ended(Queues& queues, const Event& event);
    void left(Queues& queues, const Event& event);

    Messages& messages_;
    TaggedMessages& channel_;
    std::vector<std::unique_ptr<Status>> gone_;  // by rank
    size_t number_gone_ = 0;
    std::vector<bool> is_peer_ = std::vector<bool>(gone_.size());  // by rank
    std::vector<Event> events_;
    bool is_closed_ = false;
    Gate gate_;  // of threads of the channel
};

class KeptMessage final : public Arrival {
public:
    KeptMessage(Tags& tags, int from, int with_tag, const TaggedMessage& message)
        : Arrival(from, with_tag), tags_(tags), message_(message) {}
    ~KeptMessage() override {
        if (message_.arrival != nullptr) tags_.drop(*message_.arrival);
    }
    [[nodiscard]] TaggedMessage release() { return std::exchange(message_, {}); }

private:
    Tags& tags_;
    TaggedMessage message_;
};

class TagPeer final : public Peer {
public:
    TagPeer(Queues& queues, std::shared_ptr<Tags> tags, int rank)
        : queues_(queues), tags_(std::move(tags)), rank_(rank) {}

    [[nodiscard]] bool is_driven() const override { return false; }
    void send(Sending& message) override {
        queues_.flush_later(*this);
        tags_->send(message);
    }
    void withdraw(Sending& message, const Status& status) override {
        queues_.flush_later(*this);
        if (tags_->stop(message)) queues_.end(message, status);
    }
    bool take(Receiving& receiving, Arrival& arrival) override {
        queues_.flush_later(*this);
        return tags_->take(queues_, receiving, rank_, static_cast<KeptMessage&>(arrival).release());
    }
    void add_waiting(int /*tag*/) override {
        queues_.flush_later(*this);
        tags_->add_waiting(rank_);
    }
    void remove_waiting(int /*tag*/) noexcept override { tags_->remove_waiting(); }
    void flush() noexcept override { tags_->flush(); }
    void close() noexcept override { tags_->close(); }

private:
    Queues& queues_;
    const std::shared_ptr<Tags> tags_;
    const int rank_;
};

}  // namespace tutti::message
