// Messages between two ranks of a group: the interface of a transport, below Exchange.
// Messages of one sender in one slot arrive in order. They are done when both sides have posted; a
// sender may let them end early. Of point-to-point messages, listeners are called in that order, if
// the receives of the slot are posted one by one. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/deadline.hpp"
#include "base/status.hpp"
#include "membership/membership.hpp"
#include "progress/driver.hpp"
#include "progress/event.hpp"

namespace tutti {

class TaggedMessages;
struct Transfer;

// Learns that one of its transfers is done: once for each, unless it was withdrawn. A thread that
// watches `done` may have freed the transfer by then.
class TransferListener {
public:
    virtual ~TransferListener() = default;
    // Any thread, also from inside the post; no lock of the channel held; short.
    virtual void transfer_done(Transfer& transfer) noexcept = 0;
};

// A channel's state of a posted transfer. Destroying it withdraws the transfer: afterwards the
// channel touches neither the memory nor the transfer.
class TransferHold {
public:
    virtual ~TransferHold() = default;
    // For a send. True: nothing of it has moved, nothing will, and the listener is not called; the
    // receiver gets an empty message in its place. False: it is on its way, or done; if the other
    // side has it, but no receive has, it comes back: then it ends as `returned`.
    virtual bool stop() noexcept = 0;
};

// One message in flight, owned by its poster; it must not move until done or withdrawn.
struct Transfer {
    // set by the owner
    std::shared_ptr<TransferListener> listener;
    bool may_end_early = false;  // a send: as soon as its memory is free
    bool is_followed = false;    // a send: another one to that rank is posted next, or flush()
    // set by the channel, readable once done is true
    std::atomic<bool> done{false};
    Status status;
    int peer = -1;          // sender or receiver
    size_t bytes = 0;       // received; at most as many as were posted
    bool returned = false;  // a send that was stopped: the receiver gets an empty message instead
    // last: withdrawn before the rest is destroyed
    std::unique_ptr<TransferHold> hold;
};

// 64 bits that name a stream of messages between two ranks of a group: two for the kind, and the
// low 38. A value is used again only when its stream is long done.
class Slot {
public:
    // One step of the group's collective with that sequence number; most have one step.
    static Slot collective(uint64_t sequence, uint32_t step = 0) {
        return Slot(uint64_t{step} << sequence_bits | (sequence & sequence_mask));
    }
    static constexpr uint32_t max_steps = 1U << 16;
    // The stream of announcements with one tag.
    static Slot announcement(int tag) {
        return Slot(announcement_bit | static_cast<uint32_t>(tag));
    }
    // The payload of one announced message; `sequence` counts the sender's messages.
    static Slot payload(uint64_t sequence) { return Slot(payload_bit | (sequence & low)); }

    // The stream of messages with one tag that the channel carries itself (tagged.hpp). `type`,
    // which has 30 bits, goes along.
    static Slot tagged(int tag, uint32_t type) {
        return Slot(tagged_bits | uint64_t{type} << tag_bits | static_cast<uint32_t>(tag));
    }
    static bool is_tagged(uint64_t value) { return (value & tagged_bits) == tagged_bits; }
    static int tag_of(uint64_t value) { return static_cast<int>(value & max_tag); }
    static uint32_t type_of(uint64_t value) {
        return static_cast<uint32_t>((value & ~tagged_bits) >> tag_bits);
    }

    // A stream in which nobody sends: a receive there ends only with the peer or the group.
    static Slot silence() { return Slot(announcement_bit | uint64_t{1} << (low_bits - 1)); }

    [[nodiscard]] uint64_t value() const { return value_; }
    [[nodiscard]] bool is_collective() const {
        return (value_ & (announcement_bit | payload_bit)) == 0;
    }
    [[nodiscard]] bool is_announcement() const {
        return (value_ & tagged_bits) == announcement_bit;
    }
    static constexpr int low_bits = 38;
    static constexpr uint64_t low = (uint64_t{1} << low_bits) - 1;

private:
    static constexpr int sequence_bits = 22;
    static constexpr uint64_t sequence_mask = (uint64_t{1} << sequence_bits) - 1;
    static constexpr uint64_t announcement_bit = uint64_t{1} << 63;
    static constexpr uint64_t payload_bit = uint64_t{1} << 62;
    static constexpr uint64_t tagged_bits = announcement_bit | payload_bit;
    static constexpr int tag_bits = 32;
    static constexpr uint64_t max_tag = INT32_MAX;
    explicit Slot(uint64_t value) : value_(value) {}
    uint64_t value_;
};

class Channel {
public:
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    [[nodiscard]] virtual const char* name() const = 0;
    // Of the ranks it connects: reports what becomes of them. Outlives this.
    [[nodiscard]] Membership& membership() const { return membership_; }
    [[nodiscard]] int rank() const { return membership_.rank(); }
    [[nodiscard]] int size() const { return membership_.size(); }

    // Throws MISMATCH if the ranks are known, by other means than messages, to have called
    // different things; a waiting collective asks now and then. Set before the first one.
    void set_comparison(std::function<void()> comparison) { comparison_ = std::move(comparison); }
    void compare() const {
        if (comparison_) comparison_();
    }

    // `peer` is another rank. A message longer than the receive posted for it ends that receive
    // with MISMATCH. After an abort, or with PEER_LOST when the peer is known to be gone, these
    // throw, or the transfer ends at once.
    virtual void post_send(Transfer& transfer, int peer, Slot slot, const void* data,
                           size_t bytes) = 0;
    virtual void post_receive(Transfer& transfer, int peer, Slot slot, void* data,
                              size_t bytes) = 0;
    virtual void post_receive_any(Transfer& transfer, Slot slot, void* data, size_t bytes) = 0;

    // The followed sends to that rank go, though none came behind them.
    virtual void flush(int /*peer*/) noexcept {}

    // The call has failed: its messages to that rank in that slot that have gone, but that no
    // receive has taken, become empty.
    virtual void take_back(int /*peer*/, Slot /*slot*/) noexcept {}

    // Ends all transfers of this rank, now and later, with this status; only the first abort
    // counts.
    virtual void abort(const Status& status) noexcept = 0;
    // The same for all but collectives, of which some are to end well before an abort() follows.
    virtual void abort_messages(const Status& status) noexcept = 0;
    // That rank has left: transfers that wait for it end with PEER_LOST when all that it sent has
    // arrived.
    virtual void left(int peer) noexcept = 0;
    // Before this rank leaves: what it sent arrives.
    virtual void leave() noexcept = 0;

    // Messages with tags, if it carries them itself; null: it does not.
    [[nodiscard]] virtual TaggedMessages* tagged() { return nullptr; }

    // Moves its messages, if the waiting thread has to; null: they move by themselves.
    [[nodiscard]] virtual Driver* driver() const { return nullptr; }
    // Until a notify() of the event after the ticket was read; false if the deadline passed first.
    bool wait(Event& event, uint32_t ticket, const Deadline& deadline) const {
        Driver* const moving = driver();
        return moving == nullptr ? event.wait(ticket, deadline)
                                 : moving->wait(event, ticket, deadline);
    }

protected:
    explicit Channel(Membership& membership) : membership_(membership) {}

private:
    Membership& membership_;
    std::function<void()> comparison_;
};

}  // namespace tutti
