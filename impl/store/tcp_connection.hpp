// One connection of a client to a TCP store server: the dialogue, without keys' rules or retries.
// One thread at a time. Errors are net::Socket's; after one the connection is of no use, unless the
// comment says otherwise.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/socket.hpp"
#include "protocol.hpp"

namespace tutti {

class TcpConnection {
public:
    // Greets the server and asks whether it is one of tutti's.
    TcpConnection(net::Socket socket, const Deadline& deadline);

    // Only such a server holds back what is sent behind a wait until the wait is over, and answers
    // GET for a key that is not there: requests to it may be sent in one piece.
    [[nodiscard]] bool server_is_tutti() const { return server_is_tutti_; }
    [[nodiscard]] const net::Socket& socket() const { return socket_; }

    // `unconfirmed`: what to report as perhaps lost if the connection breaks before the next
    // answer; for requests without an answer of their own.
    void send(const std::string& message, const Deadline& deadline, std::string unconfirmed = "");
    uint8_t read_byte(const Deadline& deadline);
    int64_t read_number(const Deadline& deadline);
    std::string read_bytes(const Deadline& deadline);
    [[nodiscard]] const std::string& unconfirmed() const { return unconfirmed_; }

    // True if the server has closed an idle connection, or sent what nobody asked for.
    [[nodiscard]] bool broken() const { return socket_.readable(); }

    // WAIT for the keys. Behind it, sent in one piece with it, `then`, which has `values` answers
    // of bytes. False if the deadline passed first: the wait is called off, and the connection is
    // good for another once settle() has read what is left of it.
    bool wait(Store::Keys keys, const std::string& then, size_t values, const Deadline& deadline);
    void settle(const Deadline& deadline);

private:
    void call_off(size_t values);

    net::Socket socket_;
    bool server_is_tutti_ = false;
    std::string unconfirmed_;
    std::optional<size_t> called_off_;  // a wait with so many values behind it
};

}  // namespace tutti
