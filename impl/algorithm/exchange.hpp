// The messages of one collective on one rank: posts them, waits for them, and compares
// fingerprints. The first message to a peer carries the fingerprint, that of the call before, its
// size and, if it is short, the data; longer data follow straight from and into the caller's
// memory. A rank that only sends often does not hear what the others have called: if it was
// something else, the next call finds that. Lives on the stack of the thread that runs the
// collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "call/fingerprint.hpp"
#include "call/past_calls.hpp"
#include "progress/event.hpp"
#include "rooms.hpp"
#include "transport/channel.hpp"

namespace tutti {

class Exchange {
public:
    using Ticket = size_t;

    // The head of the first message between two ranks.
    struct Head {
        Fingerprint fingerprint;
        PastCall previous;
        uint64_t sent;      // bytes of the data, behind it or in the message that follows
        uint64_t expected;  // bytes that the sender wants in return, or unsaid
    };
    static constexpr uint64_t unsaid = UINT64_MAX;
    // The most data that can follow it.
    static constexpr size_t eager_bytes = 4096 - sizeof(Head);

    // One step of a collective of several; ranks may be in different ones.
    struct Step {
        uint32_t index;
        Fingerprint whole;                      // of the collective
        const PastCalls& past = no_past_calls;  // before it, over this channel
    };

    Exchange(Channel& channel, const Fingerprint& fingerprint, uint64_t sequence,
             const Deadline& deadline, const PastCalls& past = no_past_calls)
        : Exchange(channel, fingerprint, sequence, deadline, {0, fingerprint, past}) {}
    // Among `members`, this rank included, numbered in that order; the list outlives this. Empty:
    // all. Errors name ranks of the group.
    Exchange(Channel& channel, const Fingerprint& fingerprint, uint64_t sequence,
             const Deadline& deadline, const Step& step, std::span<const int> members = {});
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] int group_rank(int member) const {
        return members_.empty() ? member : members_[static_cast<size_t>(member)];
    }

    // Post a message. Between two ranks the n-th send matches the n-th receive, and both have the
    // same size. The memory is used until wait() returns for the ticket, or the Exchange ends.
    Ticket send(int peer, std::span<const std::byte> bytes) { return send(peer, bytes, unsaid); }
    Ticket receive(int peer, std::span<std::byte> bytes) { return receive(peer, bytes, unsaid); }
    // The first message of this peer, of any size up to that of `room`, which is eager_bytes at
    // most; wait_first() returns it.
    Ticket receive_first(int peer, std::span<std::byte> room);
    std::span<std::byte> wait_first(Ticket ticket);

    // Both at once, as the first messages between the two, whose sizes only these two know: if they
    // disagree, both get the error when they wait.
    struct Swap {
        Ticket incoming;
        Ticket outgoing;
    };
    Swap swap(int peer, std::span<const std::byte> outgoing, std::span<std::byte> incoming);

    // Memory for messages that is freed after the last of them is withdrawn: on failure, after the
    // algorithm has returned.
    std::span<std::byte> room(size_t bytes);

    // Until the message is received, or sent. Throws TIMEOUT, PEER_LOST, MISMATCH, ABORTED with the
    // peer's rank.
    void wait(Ticket ticket) { wait(ticket, deadline_); }
    void wait(Ticket ticket, const Deadline& deadline);
    void wait_all();

    [[nodiscard]] const Deadline& deadline() const { return deadline_; }

private:
    struct Message;
    struct Peer {
        int rank;
        bool greeted = false;  // our first message to it is posted
        bool awaited = false;  // its first message to us is posted
    };

    Peer& peer(int rank);
    Message& add(int peer);
    [[nodiscard]] Slot slot() const { return Slot::collective(sequence_, step_.index); }
    Ticket send(int peer, std::span<const std::byte> bytes, uint64_t expected);
    Ticket receive(int peer, std::span<std::byte> bytes, uint64_t given);
    void await(Transfer& transfer, int peer, const char* doing, const Deadline& deadline);
    void open(Message& message, const Deadline& deadline);
    void check_opening(const Message& message) const;
    void check_arrived() const;
    void report_stall() const;
    [[noreturn]] void await_reason(int peer);
    [[noreturn]] void fail_mismatch(int peer, const Fingerprint& theirs) const;
    [[noreturn]] void fail_previous(int peer, const PastCall& theirs) const;
    void check_size(int sender, uint64_t sent, int receiver, uint64_t expected) const;

    Channel& channel_;
    const std::span<const int> members_;
    const int rank_;
    const int size_;
    const Fingerprint fingerprint_;
    const uint64_t sequence_;
    const Step step_;
    const Deadline deadline_;
    Deadline stall_deadline_;  // then the others learn where this rank waits
    bool reported_stall_ = false;
    const int exceptions_;  // in flight when it began
    std::shared_ptr<Event> event_;
    std::shared_ptr<TransferListener> listener_;
    std::vector<Peer> peers_;
    std::vector<Rooms::Room> rooms_;
    std::deque<Message> messages_;  // last: gone before the memory they use
};

}  // namespace tutti
