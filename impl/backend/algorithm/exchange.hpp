// The messages of one collective on one rank: posts them, waits for them, and compares
// fingerprints. The first message to a peer carries the fingerprint and, if it is short, the data;
// longer data follow straight from and into the caller's memory. Lives on the stack of the thread
// that runs the collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backend/call/fingerprint.hpp"
#include "backend/channel.hpp"
#include "base/deadline.hpp"
#include "base/event.hpp"

namespace tutti {

class Exchange {
public:
    using Ticket = size_t;

    Exchange(Channel& channel, const Fingerprint& fingerprint, uint64_t number,
             const Deadline& deadline);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    [[nodiscard]] int rank() const { return channel_.rank(); }
    [[nodiscard]] int size() const { return channel_.size(); }

    // Post a message. Between two ranks the n-th send matches the n-th receive, and both have the
    // same size. The memory is used until wait() returns for the ticket, or the Exchange ends.
    Ticket send(int peer, std::span<const std::byte> bytes);
    Ticket receive(int peer, std::span<std::byte> bytes);

    // Until the message is there, or has gone. Throws TIMEOUT, PEER_LOST, MISMATCH, ABORTED with
    // the peer's rank.
    void wait(Ticket ticket);
    void wait_all();

private:
    struct Message;
    struct Peer {
        int rank;
        bool greeted = false;  // our first message to it is posted
        bool awaited = false;  // its first message to us is posted
    };

    Peer& peer(int rank);
    Message& add(int peer);
    void await(Transfer& transfer, int peer, const char* doing);
    void open(Message& message);
    [[noreturn]] void await_reason(int peer);
    [[noreturn]] void fail_mismatch(const Message& message, const Fingerprint& theirs) const;

    Channel& channel_;
    const Fingerprint fingerprint_;
    const uint64_t number_;
    const Deadline deadline_;
    const Deadline patience_;  // then the others are told where this rank waits
    bool told_ = false;
    std::shared_ptr<Event> event_;
    std::shared_ptr<TransferListener> listener_;
    std::vector<Peer> peers_;
    std::deque<Message> messages_;
};

}  // namespace tutti
