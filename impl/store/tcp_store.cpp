// The client of a TCP store. Commands share one connection and take turns on it; each wait has a
// connection to itself, from a pool, for the server keeps one wait per connection. Any thread; no
// lock is held while talking to the server.
#include <utility>

#include "base/error.hpp"
#include "base/mutex.hpp"
#include "bind_rules.hpp"
#include "keys.hpp"
#include "limits.hpp"
#include "store.hpp"
#include "tcp_connection.hpp"
#include "tcp_server.hpp"

namespace tutti {
namespace {

using protocol::Query;
using protocol::wire_key;
using protocol::Writer;

// What a call says about itself when it fails.
struct Call {
    const char* operation;
    Store::Keys keys;
    const Deadline& deadline;
};

class TcpStore final : public Store {
public:
    TcpStore(const TcpStoreOptions& options, const Deadline& deadline);

    void set(const std::string& key, const std::string& value, const Deadline& deadline) override;
    std::string get(const std::string& key, const Deadline& deadline) override;
    int64_t add(const std::string& key, int64_t amount, const Deadline& deadline) override;
    void append(const std::string& key, const std::string& value,
                const Deadline& deadline) override;
    bool check(Keys keys, const Deadline& deadline) override;
    void wait(Keys keys, const Deadline& deadline) override;
    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline& deadline) override;
    bool delete_key(const std::string& key, const Deadline& deadline) override;
    std::vector<std::string> multi_get(Keys keys, const Deadline& deadline) override;
    void multi_set(Pairs pairs, const Deadline& deadline) override;
    int64_t num_keys(const Deadline& deadline) override;

    [[nodiscard]] std::optional<std::string> local_address() const override {
        return local_address_;
    }
    [[nodiscard]] std::optional<std::string> remote_address() const override {
        return remote_.host();
    }
    [[nodiscard]] int port() const { return port_; }
    void join(const TcpStoreOptions& options, const Deadline& deadline);

private:
    // The right to use command_, for the length of a call.
    class Turn {
    public:
        Turn(TcpStore& store, const Call& call);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

    private:
        TcpStore& store_;
    };

    template <typename Dialogue>
    auto command(const Call& call, Dialogue&& dialogue);
    void send_only(const Call& call, const std::string& message);
    // The values of the keys, waiting for them if they are not there; none if !with_values.
    std::vector<std::string> fetch(const Call& call, bool with_values);
    std::optional<std::vector<std::string>> fetch_now(const Call& call, const std::string& request,
                                                      size_t values);
    std::vector<std::string> fetch_waiting(const Call& call, const std::string& request,
                                           size_t values);
    void refresh_command(const Call& call);
    std::unique_ptr<TcpConnection> take_wait_connection(const Deadline& deadline);
    void keep_wait_connection(std::unique_ptr<TcpConnection> connection);
    [[noreturn]] void fail(const Call& call, const Error& error) const;

    std::unique_ptr<TcpServer> server_;  // the master's
    int port_ = 0;
    std::string where_;  // "TCP store host:port"
    net::Address remote_;
    std::string local_address_;

    Mutex mutex_;
    Condition turn_over_;
    bool command_busy_ TUTTI_GUARDED_BY(mutex_) = false;
    std::vector<std::unique_ptr<TcpConnection>> idle_ TUTTI_GUARDED_BY(mutex_);
    std::unique_ptr<TcpConnection> command_;  // whose turn it is
};

TcpStore::TcpStore(const TcpStoreOptions& options, const Deadline& deadline) {
    net::Endpoint endpoint = {options.host, options.port};
    if (options.is_master) {
        BoundServer bound = bind_store_server(options.host, options.port);
        server_ = std::make_unique<TcpServer>(std::move(bound.sockets));
        endpoint = {bound.host, server_->port()};
    }
    port_ = endpoint.port;
    where_ = cat("TCP store ", net::endpoint_text(options.host, port_));
    try {
        net::Socket socket = net::Socket::connect(endpoint, deadline);
        remote_ = net::remote_address_of(socket.descriptor());
        local_address_ = socket.local_address();
        command_ = std::make_unique<TcpConnection>(std::move(socket), deadline);
    } catch (const Error& error) {
        Status status = error.status();
        status.message = cat(where_, ": ", status.message);
        throw Error(std::move(status));
    }
}

TcpStore::Turn::Turn(TcpStore& store, const Call& call) : store_(store) {
    Lock lock(store_.mutex_);
    while (store_.command_busy_)
        if (!store_.turn_over_.wait(lock, call.deadline) && store_.command_busy_)
            fail_timed_out(call.operation, call.keys, store_.where_);
    store_.command_busy_ = true;
}

TcpStore::Turn::~Turn() {
    const Lock lock(store_.mutex_);
    store_.command_busy_ = false;
    store_.turn_over_.notify_one();
}

void TcpStore::fail(const Call& call, const Error& error) const {
    Status status = error.status();
    if (status.code == TUTTI_ERR_TIMEOUT) fail_timed_out(call.operation, call.keys, where_);
    // The connection stood and broke: the store is lost, or it refused and hung up.
    if (status.code == TUTTI_ERR_NETWORK) {
        status.code = TUTTI_ERR_STORE;
        status.message += "; the server has ended or refused the request";
    }
    const std::string keys = call.keys.empty() ? "" : cat(" of ", keys_text(call.keys));
    status.message = cat(call.operation, keys, " at the ", where_, ": ", status.message);
    throw Error(std::move(status));
}

// A server hangs up on what it refuses; the next call starts on a new connection. One attempt: if
// nobody listens there any more, the store is gone.
void TcpStore::refresh_command(const Call& call) {
    std::string lost;
    if (command_ != nullptr && command_->broken()) {
        lost = command_->unconfirmed();
        command_.reset();
    }
    if (!lost.empty())
        throw Error(TUTTI_ERR_STORE,
                    cat("the server closed the connection, and an earlier ", lost, " may be lost"));
    if (command_ == nullptr)
        command_ = std::make_unique<TcpConnection>(net::Socket::connect(remote_, call.deadline),
                                                   call.deadline);
}

template <typename Dialogue>
auto TcpStore::command(const Call& call, Dialogue&& dialogue) {
    const Turn turn(*this, call);
    try {
        refresh_command(call);
        return dialogue(*command_);
    } catch (const Error& error) {
        command_.reset();  // an answer may still be on its way
        fail(call, error);
    }
}

void TcpStore::join(const TcpStoreOptions& options, const Deadline& deadline) {
    if (!options.wait_for_workers || options.world_size < 1) return;
    const Call call = {"joining", {}, deadline};
    command(call, [&](TcpConnection& connection) {
        connection.send(Writer(Query::Add).bytes(protocol::joined_key).number(1).take(), deadline);
        return connection.read_number(deadline);
    });
    if (server_ == nullptr) return;
    const int64_t joined = server_->wait_for_joined(options.world_size, deadline);
    if (joined < options.world_size)
        throw Error(TUTTI_ERR_TIMEOUT, cat(where_, ": timed out waiting for the clients: ", joined,
                                           " of ", options.world_size, " came"));
}

void TcpStore::send_only(const Call& call, const std::string& message) {
    command(call, [&](TcpConnection& connection) {
        connection.send(message, call.deadline, cat(call.operation, " of ", keys_text(call.keys)));
    });
}

void TcpStore::set(const std::string& key, const std::string& value, const Deadline& deadline) {
    check_key(key);
    send_only({"set", Keys(&key, 1), deadline},
              Writer(Query::Set).bytes(wire_key(key)).bytes(value).take());
}

void TcpStore::append(const std::string& key, const std::string& value, const Deadline& deadline) {
    check_key(key);
    send_only({"append", Keys(&key, 1), deadline},
              Writer(Query::Append).bytes(wire_key(key)).bytes(value).take());
}

void TcpStore::multi_set(Pairs pairs, const Deadline& deadline) {
    check_pairs(pairs);
    if (pairs.empty()) return;
    Writer writer(Query::MultiSet);
    writer.count(pairs.size());
    for (const auto& [key, value] : pairs) writer.bytes(wire_key(key)).bytes(value);
    send_only({"multi_set", Keys(&pairs.front().first, 1), deadline}, writer.take());
}

int64_t TcpStore::add(const std::string& key, int64_t amount, const Deadline& deadline) {
    check_key(key);
    return command({"add", Keys(&key, 1), deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::Add).bytes(wire_key(key)).number(amount).take(), deadline);
        return connection.read_number(deadline);
    });
}

bool TcpStore::check(Keys keys, const Deadline& deadline) {
    check_keys(keys);
    return command({"check", keys, deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::Check).wire_keys(keys).take(), deadline);
        return connection.read_byte(deadline) == protocol::check_ready;
    });
}

std::string TcpStore::compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired, const Deadline& deadline) {
    check_key(key);
    return command({"compare_set", Keys(&key, 1), deadline}, [&](TcpConnection& connection) {
        connection.send(
            Writer(Query::CompareSet).bytes(wire_key(key)).bytes(expected).bytes(desired).take(),
            deadline);
        return connection.read_bytes(deadline);
    });
}

bool TcpStore::delete_key(const std::string& key, const Deadline& deadline) {
    check_key(key);
    return command({"delete_key", Keys(&key, 1), deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::DeleteKey).bytes(wire_key(key)).take(), deadline);
        return connection.read_number(deadline) > 0;
    });
}

int64_t TcpStore::num_keys(const Deadline& deadline) {
    return command({"num_keys", {}, deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::CountKeys).take(), deadline);
        return connection.read_number(deadline);
    });
}

std::string TcpStore::get(const std::string& key, const Deadline& deadline) {
    const Keys keys(&key, 1);
    check_keys(keys);
    return std::move(fetch({"get", keys, deadline}, true).front());
}

std::vector<std::string> TcpStore::multi_get(Keys keys, const Deadline& deadline) {
    check_keys(keys);
    if (keys.empty()) return {};
    return fetch({"multi_get", keys, deadline}, true);
}

void TcpStore::wait(Keys keys, const Deadline& deadline) {
    check_keys(keys);
    if (!keys.empty()) (void)fetch({"wait", keys, deadline}, false);
}

// Asking first on the command connection serves what is there with no other connection, and its
// answer tells that everything this handle has set before has arrived, so that a wait on another
// connection cannot overtake it.
std::vector<std::string> TcpStore::fetch(const Call& call, bool with_values) {
    std::string request;
    if (with_values && call.keys.size() == 1)
        request = Writer(Query::Get).bytes(wire_key(call.keys.front())).take();
    else if (with_values)
        request = Writer(Query::MultiGet).wire_keys(call.keys).take();
    const size_t values = with_values ? call.keys.size() : 0;
    if (auto there = fetch_now(call, request, values)) return std::move(*there);
    return fetch_waiting(call, request, values);
}

std::optional<std::vector<std::string>> TcpStore::fetch_now(const Call& call,
                                                            const std::string& request,
                                                            size_t values) {
    using Values = std::optional<std::vector<std::string>>;
    return command(call, [&](TcpConnection& connection) -> Values {
        const std::string question = Writer(Query::Check).wire_keys(call.keys).take();
        const bool at_once = connection.server_is_tutti();
        connection.send(at_once ? question + request : question, call.deadline);
        const bool there = connection.read_byte(call.deadline) == protocol::check_ready;
        if (there && !at_once && values > 0) connection.send(request, call.deadline);
        std::vector<std::string> found(there || at_once ? values : 0);
        for (std::string& value : found) value = connection.read_bytes(call.deadline);
        return there ? Values(std::move(found)) : std::nullopt;
    });
}

std::vector<std::string> TcpStore::fetch_waiting(const Call& call, const std::string& request,
                                                 size_t values) {
    std::vector<std::string> found(values);
    bool in_time = false;
    try {
        auto connection = take_wait_connection(call.deadline);
        const bool at_once = connection->server_is_tutti();
        in_time = connection->wait(call.keys, at_once ? request : "", at_once ? values : 0,
                                   call.deadline);
        if (in_time && !at_once && values > 0) connection->send(request, call.deadline);
        if (in_time)
            for (std::string& value : found) value = connection->read_bytes(call.deadline);
        keep_wait_connection(std::move(connection));
    } catch (const Error& error) {
        fail(call, error);
    }
    if (!in_time) fail_timed_out(call.operation, call.keys, where_);
    return found;
}

// One per waiting thread, as many as there are: a limit would let waits block each other for ever.
// Only those kept for later are limited.
std::unique_ptr<TcpConnection> TcpStore::take_wait_connection(const Deadline& deadline) {
    while (true) {
        std::unique_ptr<TcpConnection> connection;
        {
            const Lock lock(mutex_);
            if (!idle_.empty()) {
                connection = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (connection == nullptr)
            return std::make_unique<TcpConnection>(net::Socket::connect(remote_, deadline),
                                                   deadline);
        try {
            connection->settle(deadline);
            if (!connection->broken()) return connection;
        } catch (const Error& error) {
            if (error.status().code == TUTTI_ERR_TIMEOUT) throw;
        }
    }
}

void TcpStore::keep_wait_connection(std::unique_ptr<TcpConnection> connection) {
    const Lock lock(mutex_);
    if (idle_.size() < store_limits::idle_wait_connections) idle_.push_back(std::move(connection));
}

}  // namespace

std::shared_ptr<Store> make_tcp_store(const TcpStoreOptions& options) {
    if (options.host.empty())
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, "TCP store: the host is not given");
    net::check_port(options.port);
    if (options.port == 0 && !options.is_master)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, "TCP store: port 0 is for the master alone");
    if (options.world_size == 0 || options.world_size < -1)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("TCP store: a world size of ", options.world_size, " is not possible"));
    const Deadline deadline = Deadline::after_ms(options.timeout_ms);
    auto store = std::make_shared<TcpStore>(options, deadline);
    store->set_timeout_ms(options.timeout_ms);
    store->join(options, deadline);
    return store;
}

std::optional<int> tcp_store_port(const Store& store) {
    const auto* tcp = dynamic_cast<const TcpStore*>(&store);
    return tcp == nullptr ? std::nullopt : std::optional(tcp->port());
}

std::unique_ptr<StoreServer> make_store_server(const std::string& host, int port) {
    return std::make_unique<TcpServer>(bind_store_server(host, port).sockets);
}

}  // namespace tutti
