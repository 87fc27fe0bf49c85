// Turns, pools, and what to say when a connection breaks. Any thread.
#include "tcp_client.hpp"

#include <unistd.h>

#include <utility>

namespace tutti {

using protocol::Query;
using protocol::Writer;

TcpClient::TcpClient(const std::string& host, std::unique_ptr<TcpConnection> connection)
    : remote_(connection->remote()),
      where_(cat("TCP store ", net::endpoint_text(host, remote_.port()))),
      local_address_(connection->socket().local_address()),
      server_is_tutti_(connection->server_is_tutti()),
      limits_(connection->limits()),
      command_(std::move(connection)) {}

TcpClient::Turn::Turn(TcpClient& client, const StoreCall& call) : client_(client) {
    Lock lock(client_.mutex_);
    while (client_.command_busy_)
        if (!client_.turn_over_.wait(lock, call.deadline) && client_.command_busy_)
            fail_timed_out(call.operation, call.keys, client_.where_);
    client_.command_busy_ = true;
}

TcpClient::Turn::~Turn() {
    const Lock lock(client_.mutex_);
    client_.command_busy_ = false;
    client_.turn_over_.notify_one();
}

// PyTorch's server has a limit for values if it is the one over libuv, which is also the one that
// has queues. That is asked only by who has so large a value.
StoreLimits TcpClient::limits_for(const StoreCall& call, size_t value_bytes) {
    StoreLimits limits = limits_;
    if (!server_is_tutti_ && value_bytes > limits.value_bytes && !server_has_queues(call))
        limits.value_bytes = StoreLimits().value_bytes;
    return limits;
}

// A server hangs up on what it refuses; the next call starts on a new connection. One attempt: if
// nobody listens there any more, the store is gone.
void TcpClient::refresh_command(const StoreCall& call) {
    if (command_ == nullptr) command_ = connect(call.deadline);
}

// What has no answer would be lost on a connection that the server has closed. Whether it is closed
// is looked at once in a while; what is lost in between is reported by the next call.
void TcpClient::send_only(const StoreCall& call, const std::string& message,
                          const std::string& behind) {
    command(call, [&](TcpConnection& connection) {
        if (connection.broken_lately()) {
            if (connection.has_unconfirmed())
                throw Error(TUTTI_ERR_NETWORK, "the connection is closed");
            command_.reset();
            refresh_command(call);
        }
        command_->send(message, call.deadline);
        if (!behind.empty()) command_->send(behind, call.deadline);
        command_->note_unconfirmed(call.operation, call.keys.front());
    });
}

void TcpClient::fence(const StoreCall& call) {
    constexpr uint32_t nonce = 0x7475'7474;
    command(call, [&](TcpConnection& connection) {
        if (!connection.has_unconfirmed()) return;
        connection.send(Writer(Query::Ping).number32(nonce).take(), call.deadline);
        if (connection.read_number32(call.deadline) != nonce)
            throw Error(TUTTI_ERR_STORE, "the server sent what nobody asked for");
    });
}

void TcpClient::need_queues(const StoreCall& call) {
    if (!server_has_queues(call)) fail_unknown(call);
}

bool TcpClient::server_has_queues(const StoreCall& call) {
    if (server_is_tutti_ || queues_ == Known::Yes) return true;
    if (queues_ == Known::No) return false;
    try {
        auto connection = connect(call.deadline);
        connection->send(Writer(Query::QueueLen).wire_key("tutti/queue").take(), call.deadline);
        (void)connection->read_number(call.deadline);
        queues_ = Known::Yes;
        keep_connection(std::move(connection));
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_NETWORK || !server_lives(call))
            fail(call, error, nullptr);
        queues_ = Known::No;
    }
    return queues_ == Known::Yes;
}

bool TcpClient::server_lives(const StoreCall& call) {
    try {
        keep_connection(connect(call.deadline));
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::unique_ptr<TcpConnection> TcpClient::connect(const Deadline& deadline) const {
    return std::make_unique<TcpConnection>(net::Socket::connect(remote_, deadline), deadline);
}

std::unique_ptr<TcpConnection> TcpClient::connect_once(const StoreCall& call) const {
    try {
        return connect(call.deadline);
    } catch (const Error& error) {
        fail(call, error, nullptr);
    }
}

// One per waiting thread, as many as there are: a limit would let waits block each other for ever.
// Only those kept for later are limited.
std::unique_ptr<TcpConnection> TcpClient::take_connection(const Deadline& deadline) {
    while (true) {
        std::unique_ptr<TcpConnection> connection;
        {
            const Lock lock(mutex_);
            if (!idle_.empty()) {
                connection = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (connection == nullptr) return connect(deadline);
        try {
            connection->settle(deadline);
            if (!connection->broken()) return connection;
        } catch (const Error& error) {
            if (error.status().code == TUTTI_ERR_TIMEOUT) throw;
        }
    }
}

void TcpClient::keep_connection(std::unique_ptr<TcpConnection> connection) {
    const Lock lock(mutex_);
    if (idle_.size() < store_limits::idle_wait_connections) idle_.push_back(std::move(connection));
}

// A server of tutti remembers why it closed a connection.
std::string TcpClient::reason_of(const TcpConnection& connection) const noexcept {
    if (!connection.server_is_tutti()) return "";
    try {
        const Deadline deadline = Deadline::after_ms(store_limits::last_word_ms);
        const auto another = connect(deadline);
        another->send(
            Writer(Query::Get).bytes(cat(protocol::refusal_key, connection.name())).take(),
            deadline);
        return another->read_bytes(deadline);
    } catch (...) {
        return "";
    }
}

void TcpClient::fail(const StoreCall& call, const Error& error,
                     const TcpConnection* connection) const {
    Status status = error.status();
    if (status.code == TUTTI_ERR_TIMEOUT) fail_timed_out(call.operation, call.keys, where_);
    // The connection stood and broke: the store is lost, or it refused and hung up.
    if (status.code == TUTTI_ERR_NETWORK) {
        status.code = TUTTI_ERR_STORE;
        const std::string reason = connection == nullptr ? "" : reason_of(*connection);
        const std::string lost = connection == nullptr ? "" : connection->unconfirmed();
        if (reason.empty())
            status.message += "; the server has ended or refused the request";
        else
            status.message = cat("the server refused it: ", reason);
        if (!lost.empty()) status.message += cat("; an earlier ", lost);
    }
    const std::string keys = call.keys.empty() ? "" : cat(" of ", keys_text(call.keys));
    status.message = cat(call.operation, keys, " at the ", where_, ": ", status.message);
    throw Error(std::move(status));
}

void TcpClient::fail_unknown(const StoreCall& call) const {
    const std::string keys = call.keys.empty() ? "" : cat(" of ", keys_text(call.keys));
    throw Error(TUTTI_ERR_UNSUPPORTED,
                cat(call.operation, keys, " at the ", where_,
                    ": the server hangs up on it; it is one of PyTorch that does not know it"));
}

}  // namespace tutti
