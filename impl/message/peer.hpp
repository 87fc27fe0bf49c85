// The interface of one way to move messages, for one other rank. It reports to Queues. All of it
// under the lock of the Messages, unless stated otherwise, and nothing here waits.
#pragma once

#include "base/status.hpp"
#include "matching.hpp"
#include "operation.hpp"

namespace tutti::message {

class Peer {
public:
    Peer() = default;
    virtual ~Peer() = default;
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    // Whether messages to and from there move only while a thread calls advance().
    [[nodiscard]] virtual bool is_driven() const = 0;
    // Offers messages and takes those that are there, and moves no long data: a caller that only
    // starts messages has others to start. True if anything moved.
    virtual bool begin() { return false; }
    // Advances as far as possible; true if anything moved.
    virtual bool advance() { return false; }
    // Whether a message to or from there is in flight, and whether in many pieces.
    [[nodiscard]] virtual bool is_busy() const { return false; }
    [[nodiscard]] virtual bool is_streaming() const { return false; }
    // Why nothing more can be received from there: received bytes were no message.
    [[nodiscard]] const Status& broken() const { return broken_; }

    // From here on the message belongs to this peer until it ends. Throws OUT_OF_MEMORY.
    virtual void send(Sending& message) = 0;
    // Ends it, if nothing of it has moved; else it goes on. Once.
    virtual void withdraw(Sending& message, const Status& status) = 0;

    // A receive, which is in no list, takes an early message. False: the sender has withdrawn it.
    virtual bool take(Receiving& receiving, Arrival& arrival) = 0;
    // One more, or one fewer, receive of this source and tag waits for a message.
    virtual void add_waiting(int /*tag*/) {}
    virtual void remove_waiting(int /*tag*/) noexcept {}

    // Sends all that was started since: soon after Queues::flush_later(), without the lock.
    virtual void flush() noexcept {}

    // The rank is gone: ends everything that only this peer can end.
    virtual void fail(const Status& /*status*/) {}
    // After the end of all messages, without the lock: returns when this peer uses no memory or
    // channel of others any more.
    virtual void close() noexcept {}

protected:
    Status broken_;
};

}  // namespace tutti::message
