// One connection of a client to a TCP store server: the dialogue, without keys' rules or retries.
// One thread at a time. Errors are net::Socket's; after one the connection is of no use, unless the
// comment says otherwise. Interrupted, a call still waits a little for an answer that is under way,
// so that the connection stays of use, and then throws ABORTED.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interruption.hpp"
#include "limits.hpp"
#include "net/socket.hpp"
#include "protocol.hpp"

namespace tutti {

// Requests that have no answer, and have not been confirmed by a later answer.
struct Unconfirmed {
    size_t count = 0;
    const char* operation = "";  // the last of them
    std::string key;

    void add(const Unconfirmed& later);
    // `set of key "a" may be lost, and 2 more before it`; empty if there is none.
    [[nodiscard]] std::string text() const;
};

class TcpConnection {
public:
    // Greets the server and asks whether it is one of tutti's. Throws STORE if it is full.
    TcpConnection(net::Socket socket, const WaitLimit& limit);

    // Only such a server holds back what is sent behind a wait until the wait is over, and answers
    // GET for a key that is not there: requests to it may be sent in one piece.
    [[nodiscard]] bool server_is_tutti() const { return server_is_tutti_; }
    // The limits of the server: one of tutti tells them, those of PyTorch are built in.
    [[nodiscard]] const StoreLimits& limits() const { return limits_; }
    // By which a server of tutti knows this connection; nobody else has it.
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const net::Socket& socket() const { return socket_; }
    [[nodiscard]] const net::Address& remote() const { return remote_; }

    void send(const std::string& message, const WaitLimit& limit);
    // The request that was sent has no answer of its own: it may be lost if the connection breaks
    // before the next answer.
    void note_unconfirmed(const char* operation, const std::string& key);
    uint8_t read_byte(const WaitLimit& limit);
    uint32_t read_number32(const WaitLimit& limit);
    int64_t read_number(const WaitLimit& limit);
    // A length and so many bytes.
    std::string read_bytes(const WaitLimit& limit);
    // QUEUE_POP's answer; nothing if the queue was empty. A value that was taken is waited for a
    // little beyond the deadline, for nobody else will get it.
    std::optional<std::string> read_popped(const WaitLimit& limit);
    [[nodiscard]] const Unconfirmed& unconfirmed() const { return unconfirmed_; }
    // Asks for an answer if there is something unconfirmed, and waits for it. False if the wait was
    // over first: the answer is read later, and the connection is as good as before.
    bool confirm(const WaitLimit& limit);
    // A call gave up the wait for its answer, so that this can take no other request. What is
    // unconfirmed is confirmed all the same when the answer begins. False if none will come, since
    // the request did not leave as a whole.
    bool abandon();
    [[nodiscard]] bool is_abandoned() const { return is_abandoned_; }

    // True if the server has closed an idle connection, or sent an unsolicited reply.
    [[nodiscard]] bool broken() const {
        if (confirmations_due_ > 0) return false;  // what comes is expected
        return !received_.empty() || socket_.readable();
    }
    // The same, as it was within the last millisecond: a look is one more system call, which many
    // short messages in a row can do without.
    [[nodiscard]] bool broken_lately();

    // A request that the server answers when something has come about, WAIT or BARRIER. Behind it
    // may stand, in one piece with it, GET or MULTI_GET, with `values` answers. False if the wait
    // was over first: the request is called off, and the connection is good for another once
    // settle() has read what is left of it.
    bool wait(const std::string& request, size_t values, const WaitLimit& limit);
    void settle(const WaitLimit& limit);
    // WAIT for the queue and QUEUE_POP behind it, in one piece. `in_time` is false if the wait was
    // over first; a value may have been given to us in that moment all the same, and is not lost.
    std::optional<std::string> wait_and_pop(const std::string& key, const WaitLimit& limit,
                                            bool& in_time);

private:
    void call_off(size_t values);
    void read_limits(const WaitLimit& limit);
    void await_confirmations(const WaitLimit& limit);
    void await_first_byte(const WaitLimit& limit);
    void receive(size_t size, const WaitLimit& limit);
    void receive_into(std::span<std::byte> bytes, const WaitLimit& limit);
    std::string_view take(size_t size, const WaitLimit& limit);

    net::Socket socket_;
    net::Address remote_;  // asked for at once: a connection that is reset has none any more
    std::string buffer_;   // what was received; its unread part is received_
    std::string_view received_;
    bool server_is_tutti_ = false;
    std::string name_;
    StoreLimits limits_ = store_limits::pytorch;
    Unconfirmed unconfirmed_;
    size_t confirmations_due_ = 0;    // answers of confirm() that are still to be read
    bool is_inside_request_ = false;  // the rest of which was not sent
    bool is_abandoned_ = false;
    Deadline::Clock::time_point sound_at_;  // when it was last found not to be broken
    std::optional<size_t> called_off_;      // a wait with so many values behind it
};

// Connects to a store's server. Tries again with back-off while there is no listener, or the
// listener hangs up before it has answered, until the deadline. Throws NETWORK with each attempt's
// reason, TIMEOUT, STORE; with `host`, as the caller gave it, in front.
std::unique_ptr<TcpConnection> connect_to_store(const std::string& host,
                                                const net::Endpoint& endpoint,
                                                const WaitLimit& limit);

}  // namespace tutti
