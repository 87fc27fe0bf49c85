// What a way of moving messages must do, for one other rank. It tells Traffic what came of it. All
// of it under the lock of the Messages, and nothing here waits.
#pragma once

#include <functional>

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
    // Goes on as far as it can; true if something came of it.
    virtual bool advance() { return false; }
    // Whether something to or from there is under way, and whether in many pieces.
    [[nodiscard]] virtual bool is_busy() const { return false; }
    [[nodiscard]] virtual bool is_streaming() const { return false; }
    // Why nothing more can come from there: what came was no message.
    [[nodiscard]] const Status& broken() const { return broken_; }

    // From here on the message is this peer's until it ends. Throws OUT_OF_MEMORY.
    virtual void send(Sending& message) = 0;
    // Ends it, if nothing of it has moved; else it goes on. Once.
    virtual void withdraw(Sending& message, const Status& status) = 0;
    // act(message) for each send of which nothing is known to have moved; it may withdraw that one.
    virtual void for_unmoved(const std::function<void(Sending&)>& act) = 0;

    // A receive, which stands in no list, takes a message that came before. False: the sender has
    // taken it back.
    virtual bool take(Receiving& receiving, Arrival& arrival) = 0;
    // One more, or one fewer, receive of this source and tag waits for a message.
    virtual void add_waiting(int /*tag*/) {}
    virtual void remove_waiting(int /*tag*/) noexcept {}

    // Nothing more comes from there, and nothing goes there: ends what only this peer can end.
    virtual void fail(const Status& /*status*/) {}
    // After the end of all messages, without the lock: returns when this peer uses nothing any
    // more that is not its own.
    virtual void close() noexcept {}

protected:
    Status broken_;
};

}  // namespace tutti::message
