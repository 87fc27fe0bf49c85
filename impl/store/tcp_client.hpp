// The connections of one TCP store handle. Commands share one and take turns on it; each wait has a
// connection to itself, from a pool, for the server keeps one wait per connection. Any thread; no
// lock is held while talking to the server. Failures name operation, keys and server.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "keys.hpp"
#include "tcp_connection.hpp"

namespace tutti {

// The description of a call, for its failure.
struct StoreCall {
    const char* operation;
    Store::Keys keys;
    WaitLimit limit;
};

class TcpClient {
public:
    // `host`: as the caller gave it, for messages.
    TcpClient(const std::string& host, std::unique_ptr<TcpConnection> connection);

    [[nodiscard]] const std::string& where() const { return where_; }
    [[nodiscard]] const net::Address& remote() const { return remote_; }
    [[nodiscard]] const std::string& local_address() const { return local_address_; }
    [[nodiscard]] bool server_is_tutti() const { return server_is_tutti_; }
    // Whether a call has failed because the connection broke, for no reason that the server knows.
    [[nodiscard]] bool has_lost_server() const { return has_lost_server_; }
    [[nodiscard]] const StoreLimits& limits() const { return limits_; }
    // The limits for a call that brings a value of this size.
    StoreLimits limits_for(const StoreCall& call, size_t value_bytes);

    // dialogue(connection) on the command connection, in turn. It ends with an answer.
    template <typename Dialogue>
    auto command(const StoreCall& call, Dialogue&& dialogue);
    // A request that has no answer, on the command connection: the message, and what stands behind
    // it if that is too large to be copied.
    void send_only(const StoreCall& call, const std::string& message,
                   const std::string& behind = {});
    // dialogue(connection) on a connection of its own.
    template <typename Dialogue>
    auto apart(const StoreCall& call, Dialogue&& dialogue);
    // The same for a query that older servers of PyTorch close the connection on: UNSUPPORTED.
    // Before it, all that this handle has written arrives.
    template <typename Dialogue>
    auto apart_if_known(const StoreCall& call, Dialogue&& dialogue);
    // Throws UNSUPPORTED if the server has no queues.
    void need_queues(const StoreCall& call);
    // Another connection to the same server.
    [[nodiscard]] std::unique_ptr<TcpConnection> connect_once(const StoreCall& call) const;
    // Returns when the server has all that this handle has written so far.
    void fence(const StoreCall& call);
    // The same. Throws STORE if something written since the last flush may be lost, whatever call
    // has found that out.
    void flush(const StoreCall& call);
    // Calls that wait for their turn look whether they are interrupted.
    void wake_waiting();

private:
    // The right to use command_, for the length of a call.
    class Turn {
    public:
        Turn(TcpClient& client, const StoreCall& call);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        TcpClient& client_;
    };

    void begin(const StoreCall& call) const;
    void refresh_command(const StoreCall& call);
    [[nodiscard]] bool server_has_queues(const StoreCall& call);
    [[nodiscard]] bool server_lives(const StoreCall& call);
    std::unique_ptr<TcpConnection> connect(const WaitLimit& limit) const;
    std::unique_ptr<TcpConnection> take_connection(const WaitLimit& limit);
    void keep_connection(std::unique_ptr<TcpConnection> connection);
    [[nodiscard]] std::string reason_of(const TcpConnection& connection) const noexcept;
    std::string give_up_command(const Error& error);
    [[noreturn]] void fail_command(const StoreCall& call, const Error& error);
    [[noreturn]] void fail(const StoreCall& call, const Error& error,
                           const TcpConnection* connection) const;
    [[noreturn]] void fail(const StoreCall& call, const Error& error, const std::string& reason,
                           const std::string& lost = {}) const;
    [[noreturn]] void fail_unknown(const StoreCall& call) const;

    const net::Address remote_;
    const std::string where_;  // "TCP store host:port"
    const std::string local_address_;
    const bool server_is_tutti_;
    const StoreLimits limits_;
    enum class Known : int { NotYet, Yes, No };
    mutable std::atomic<bool> has_lost_server_{false};
    std::atomic<Known> queues_{Known::NotYet};  // of a server that is not tutti's

    Mutex mutex_;
    Condition turn_over_;
    bool command_busy_ TUTTI_GUARDED_BY(mutex_) = false;
    std::vector<std::unique_ptr<TcpConnection>> idle_ TUTTI_GUARDED_BY(mutex_);
    // Owned by the call whose turn it is: the connection, and the unanswered requests on the
    // connections before it. They may be lost, which the next flush tells, with the reason of the
    // last.
    std::unique_ptr<TcpConnection> command_;
    Unconfirmed lost_;
    std::string lost_reason_;
};

template <typename Dialogue>
auto TcpClient::command(const StoreCall& call, Dialogue&& dialogue) {
    const Turn turn(*this, call);
    begin(call);
    try {
        refresh_command(call);
        return dialogue(*command_);
    } catch (const Error& error) {
        fail_command(call, error);
    } catch (...) {
        give_up_command(Error(TUTTI_ERR_OUT_OF_MEMORY, "no memory for an answer"));
        throw;
    }
}

template <typename Dialogue>
auto TcpClient::apart(const StoreCall& call, Dialogue&& dialogue) {
    std::unique_ptr<TcpConnection> connection;
    try {
        connection = take_connection(call.limit);
        auto result = dialogue(*connection);
        keep_connection(std::move(connection));
        return result;
    } catch (const Error& error) {
        fail(call, error, connection.get());
    }
}

template <typename Dialogue>
auto TcpClient::apart_if_known(const StoreCall& call, Dialogue&& dialogue) {
    fence(call);
    if (server_is_tutti_) return apart(call, dialogue);
    std::unique_ptr<TcpConnection> connection;
    try {
        connection = take_connection(call.limit);
    } catch (const Error& error) {
        fail(call, error, nullptr);
    }
    try {
        auto result = dialogue(*connection);
        keep_connection(std::move(connection));
        return result;
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_NETWORK || !server_lives(call))
            fail(call, error, connection.get());
    }
    fail_unknown(call);
}

}  // namespace tutti
