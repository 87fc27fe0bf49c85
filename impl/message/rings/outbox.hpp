// The messages to one other rank. They are offered in order, as far as descriptors are free; short
// ones are given to the receiver while it has taken none of very many. Data that do not fit beside
// the descriptor follow in a stream, once the receiver wants them. Under the lock of the Messages.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/shared.hpp"
#include "message/operation.hpp"
#include "message/queues.hpp"
#include "ring.hpp"

namespace tutti::message {

class Outbox {
public:
    // `theirs`: the doorbell of the receiver. `shared`: memory that it sees.
    Outbox(Queues& queues, const RingView& view, Doorbell& theirs, const shm::Shared& shared)
        : queues_(queues), view_(view), theirs_(theirs), shared_(shared) {}

    // Throws OUT_OF_MEMORY.
    void add(Sending& message) {
        free_.reserve(max_offers);
        queued_.push_back(message);
    }
    // Offers what can be offered; true if anything was.
    bool begin();
    // Advances as far as possible; true if anything moved.
    bool advance();
    [[nodiscard]] bool is_busy() const {
        return !queued_.empty() || !offered_.empty() || !streaming_.empty();
    }
    [[nodiscard]] bool is_streaming() const { return !streaming_.empty(); }
    // Whether data that do not come with a descriptor are on their way, as far as the next messages
    // show.
    [[nodiscard]] bool has_long_data() const {
        return is_streaming() || has_long_data(offered_) || has_long_data(queued_);
    }

    // Ends it, if nothing of it has moved; else it goes on.
    bool withdraw(Sending& message, const Status& status);
    // Ends all.
    void fail(const Status& status);

private:
    static bool has_long_data(const List<Sending>& messages) {
        return !messages.empty() && messages.front().call.buffer.size() > eager_bytes;
    }
    bool offer(Sending& message);
    bool poll();
    bool poll(Sending& message);
    bool take_back(Sending& message);
    bool take_back(Sending& message, State now);
    bool stream();
    [[nodiscard]] std::atomic<uint64_t>& state(const Sending& message) const {
        return view_.ring->offers[message.offer];
    }

    Queues& queues_;
    const RingView view_;
    Doorbell& theirs_;
    const shm::Shared& shared_;
    List<Sending> queued_;
    List<Sending> offered_;
    List<Sending> streaming_;
    uint64_t next_ = 1;      // sequence number of the next message
    uint64_t consumed_ = 0;  // as last seen
    uint64_t settled_ = 0;   // offers that the receiver has settled
    uint64_t written_ = 0;
    std::vector<uint32_t> free_;  // offers; has room for all
    uint32_t offers_ = 0;         // ever used
};

}  // namespace tutti::message
