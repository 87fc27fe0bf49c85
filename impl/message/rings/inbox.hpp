// The messages from one other rank: reads its descriptors as long as a receive waits for that rank,
// and the data in the stream. Under the lock of the Messages.
#pragma once

#include <cstdint>

#include "long_data.hpp"
#include "memory/shared.hpp"
#include "message/matching.hpp"
#include "message/operation.hpp"
#include "message/queues.hpp"
#include "outbox.hpp"
#include "ring.hpp"

namespace tutti::message {

struct Sender {
    int rank;
    int place;        // in memory that it has shared
    int32_t process;  // in which its memory can be read; 0: it cannot
    LongData long_data;
};

// A message that arrived before its receive.
struct OfferedArrival final : Arrival {
    using Arrival::Arrival;
    uint64_t sequence = 0;
    Descriptor::Head head{};
    std::unique_ptr<std::byte[]> data;  // null: there are none, or they are not here
    Location where{};
};

class Inbox {
public:
    // `theirs`: the doorbell of the sender. `shared`: its memory that this rank sees. `outbox`: to
    // the same rank. `broken` becomes the reason when the sender's memory has no valid message.
    Inbox(Queues& queues, const RingView& view, Doorbell& theirs, const Sender& sender,
          const shm::Shared& shared, const Outbox& outbox, Status& broken)
        : queues_(queues),
          view_(view),
          theirs_(theirs),
          sender_(sender),
          shared_(shared),
          outbox_(outbox),
          broken_(broken) {}

    // Takes the messages that are there; true if there was one.
    bool begin() { return broken_.ok() && poll(); }
    // Advances as far as possible; true if anything moved.
    bool advance();
    [[nodiscard]] bool is_streaming() const { return !streaming_.empty() || !reading_.empty(); }
    // A receive takes an early message. False: the sender has withdrawn it.
    bool take(Receiving& receiving, const OfferedArrival& arrival);
    // Ends the receives whose messages have not fully arrived.
    void fail(const Status& status);

private:
    struct Offer {
        uint64_t sequence;
        Descriptor::Head head;
        const std::byte* data;  // null: there are none, or they are not here
        Location where;
    };
    bool poll();
    void give_back(uint64_t descriptor);
    bool deliver(const Offer& offer);
    void keep(const Offer& offer);
    bool take(Receiving& receiving, const Offer& offer, bool waits);
    [[nodiscard]] bool is_offered(const OfferedArrival& arrival) const;
    [[nodiscard]] bool is_read_there(const Location& where, size_t bytes, bool is_exchange) const;
    [[nodiscard]] bool sees(const Location& where, size_t bytes) const;
    [[nodiscard]] bool read_some(const Receiving& receiving, size_t length) const;
    bool settle(uint64_t sequence, uint32_t offer, State from, State to);
    bool read_there();
    void end_reading(Receiving& receiving, bool has_all);
    bool read();
    bool read_head(uint64_t all);
    void read_data(size_t length);
    bool break_off(const char* what);

    Queues& queues_;
    const RingView view_;
    Doorbell& theirs_;
    const Sender sender_;
    const shm::Shared& shared_;
    const Outbox& outbox_;
    uint64_t next_ = 1;             // number of the next descriptor
    uint64_t settled_ = 0;          // offers of the sender
    uint64_t read_ = 0;             // bytes of the stream
    List<Receiving> reading_;       // their data in the sender's memory
    List<Receiving> streaming_;     // their data are in the stream
    Receiving* current_ = nullptr;  // the one whose data come next in the stream
    size_t given_ = 0;              // arrivals that were given
    size_t purge_at_ = 64;          // arrivals
    Status& broken_;
};

}  // namespace tutti::message
