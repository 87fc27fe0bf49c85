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
    while (client_.command_busy_) {
        const bool goes_on =
            !call.limit.interrupted() && client_.turn_over_.wait(lock, call.limit.deadline());
        if (!goes_on && client_.command_busy_)
            fail_wait(call.operation, call.keys, client_.where_, call.limit);
    }
    client_.command_busy_ = true;
}

TcpClient::Turn::~Turn() {
    const Lock lock(client_.mutex_);
    client_.command_busy_ = false;
    client_.turn_over_.notify_one();
}

// Failures that can come before a dialogue come here: in the middle they would cost the connection.
void TcpClient::begin(const StoreCall& call) const {
    if (call.limit.interrupted()) fail_wait(call.operation, call.keys, where_, call.limit);
    try {
        (void)call.limit.descriptor();
    } catch (const Error& error) {
        fail(call, error, nullptr);
    }
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
// there is no listener any more, the store is gone.
void TcpClient::refresh_command(const StoreCall& call) {
    if (command_ != nullptr && command_->is_abandoned()) {
        // What was sent there comes first.
        if (!command_->confirm(call.limit))
            fail_wait(call.operation, call.keys, where_, call.limit);
        command_.reset();
    }
    if (command_ == nullptr) command_ = connect(call.limit);
}

// A request that has no answer would be lost on a connection that the server has closed. Whether it
// is closed is looked at once in a while; a request that is lost in between is reported by the next
// call.
void TcpClient::send_only(const StoreCall& call, const std::string& message,
                          const std::string& behind) {
    command(call, [&](TcpConnection& connection) {
        if (connection.broken_lately()) {
            if (connection.unconfirmed().count > 0)
                throw Error(TUTTI_ERR_NETWORK, "the connection is closed");
            command_.reset();
            refresh_command(call);
        }
        command_->send(message, call.limit);
        if (!behind.empty()) command_->send(behind, call.limit);
        command_->note_unconfirmed(call.operation, call.keys.front());
    });
}

void TcpClient::fence(const StoreCall& call) {
    const bool in_time =
        command(call, [&](TcpConnection& connection) { return connection.confirm(call.limit); });
    if (!in_time) fail_wait(call.operation, call.keys, where_, call.limit);
}

void TcpClient::flush(const StoreCall& call) {
    const Turn turn(*this, call);
    begin(call);
    bool in_time = true;
    try {
        if (command_ != nullptr) in_time = command_->confirm(call.limit);
    } catch (const Error& error) {
        const tutti_status code = error.status().code;
        in_time = code != TUTTI_ERR_TIMEOUT && code != TUTTI_ERR_ABORTED;
        give_up_command(error);
    }
    if (!in_time) fail_wait(call.operation, call.keys, where_, call.limit);
    if (lost_.count == 0) return;
    const std::string reason = std::exchange(lost_reason_, {});
    const Unconfirmed lost = std::exchange(lost_, {});
    throw Error(TUTTI_ERR_STORE,
                cat(call.operation, " at the ", where_, ": ", reason, "; ", lost.text()));
}

void TcpClient::wake_waiting() {
    const Lock lock(mutex_);
    turn_over_.notify_all();
}

void TcpClient::need_queues(const StoreCall& call) {
    if (!server_has_queues(call)) fail_unknown(call);
}

bool TcpClient::server_has_queues(const StoreCall& call) {
    if (server_is_tutti_ || queues_ == Known::Yes) return true;
    if (queues_ == Known::No) return false;
    try {
        auto connection = connect(call.limit);
        connection->send(Writer(Query::QueueLen).wire_key("tutti/queue").take(), call.limit);
        (void)connection->read_number(call.limit);
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
        keep_connection(connect(call.limit));
        return true;
    } catch (const Error& error) {
        if (error.status().code == TUTTI_ERR_ABORTED) fail(call, error, nullptr);
        return false;
    }
}

std::unique_ptr<TcpConnection> TcpClient::connect(const WaitLimit& limit) const {
    return std::make_unique<TcpConnection>(
        net::Socket::connect(remote_, limit.deadline(), limit.descriptor()), limit);
}

std::unique_ptr<TcpConnection> TcpClient::connect_once(const StoreCall& call) const {
    try {
        return connect(call.limit);
    } catch (const Error& error) {
        fail(call, error, nullptr);
    }
}

// One per waiting thread, as many as there are: a limit would let waits block each other for ever.
// Only those kept for later are limited.
std::unique_ptr<TcpConnection> TcpClient::take_connection(const WaitLimit& limit) {
    while (true) {
        std::unique_ptr<TcpConnection> connection;
        {
            const Lock lock(mutex_);
            if (!idle_.empty()) {
                connection = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (connection == nullptr) return connect(limit);
        try {
            connection->settle(limit);
            if (!connection->broken()) return connection;
        } catch (const Error& error) {
            const tutti_status code = error.status().code;
            if (code == TUTTI_ERR_TIMEOUT || code == TUTTI_ERR_ABORTED) throw;
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

// An answer may still be on its way, so the connection is of no more use: unless it is to confirm
// what was sent before. Returns why the server closed it, as far as that is known.
std::string TcpClient::give_up_command(const Error& error) {
    const tutti_status code = error.status().code;
    const bool has_time = code == TUTTI_ERR_TIMEOUT || code == TUTTI_ERR_ABORTED;
    const bool awaits = command_ != nullptr && command_->unconfirmed().count > 0;
    if (has_time && awaits && command_->abandon()) return "";
    const std::unique_ptr<TcpConnection> broken = std::move(command_);
    if (broken == nullptr) return "";
    std::string reason;
    if (error.status().code == TUTTI_ERR_NETWORK) reason = reason_of(*broken);
    if (broken->unconfirmed().count > 0) {
        lost_.add(broken->unconfirmed());
        lost_reason_ = reason.empty() ? cat("the connection was lost: ", error.status().message)
                                      : cat("the server refused a request: ", reason);
    }
    return reason;
}

void TcpClient::fail_command(const StoreCall& call, const Error& error) {
    const std::string lost = command_ == nullptr ? "" : command_->unconfirmed().text();
    fail(call, error, give_up_command(error), lost);
}

void TcpClient::fail(const StoreCall& call, const Error& error,
                     const TcpConnection* connection) const {
    const bool broke = connection != nullptr && error.status().code == TUTTI_ERR_NETWORK;
    fail(call, error, broke ? reason_of(*connection) : "");
}

void TcpClient::fail(const StoreCall& call, const Error& error, const std::string& reason,
                     const std::string& lost) const {
    Status status = error.status();
    if (status.code == TUTTI_ERR_TIMEOUT || status.code == TUTTI_ERR_ABORTED)
        fail_wait(call.operation, call.keys, where_, call.limit);
    // The connection stood and broke: the store is lost, or it refused and hung up.
    if (status.code == TUTTI_ERR_NETWORK) {
        status.code = TUTTI_ERR_STORE;
        has_lost_server_ = reason.empty();
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
