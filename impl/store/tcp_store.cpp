// A TCP store: each operation as its dialogue with the server, and what is particular to servers of
// PyTorch. Any thread.
#include <chrono>
#include <utility>

#include "base/resource_limits.hpp"
#include "bind_rules.hpp"
#include "keys.hpp"
#include "progress/sleep.hpp"
#include "shared_servers.hpp"
#include "store.hpp"
#include "tcp_client.hpp"
#include "tcp_server.hpp"

namespace tutti {
namespace {

using protocol::Query;
using protocol::Writer;

// From here on a second system call costs less than a copy.
constexpr size_t large_value_bytes = size_t{64} << 10;
constexpr auto pause_after_a_loss = std::chrono::milliseconds(5);

// The place of a handle's server.
struct ServerPlace {
    std::string host;                    // as it was given
    std::vector<std::string> addresses;  // numeric
    bool only_this_host = false;
};

class TcpStore final : public Store {
public:
    // `server`: kept alive, null if it is elsewhere.
    TcpStore(ServerPlace place, std::shared_ptr<TcpServer> server,
             std::unique_ptr<TcpConnection> connection);

    void set(const std::string& key, const std::string& value, const Deadline& deadline) override;
    std::string get(const std::string& key, const WaitLimit& limit) override;
    int64_t add(const std::string& key, int64_t amount, const Deadline& deadline) override;
    void append(const std::string& key, const std::string& value,
                const Deadline& deadline) override;
    bool check(Keys keys, const Deadline& deadline) override;
    void wait(Keys keys, const WaitLimit& limit) override;
    std::string compare_set(const std::string& key, const std::string& expected,
                            const std::string& desired, const Deadline& deadline) override;
    bool delete_key(const std::string& key, const Deadline& deadline) override;
    std::vector<std::string> multi_get(Keys keys, const WaitLimit& limit) override;
    void multi_set(Pairs pairs, const Deadline& deadline) override;
    int64_t num_keys(const Deadline& deadline) override;
    std::vector<std::string> list_keys(const Deadline& deadline) override;
    void queue_push(const std::string& key, const std::string& value,
                    const Deadline& deadline) override;
    std::string queue_pop(const std::string& key, bool block, const WaitLimit& limit) override;
    int64_t queue_len(const std::string& key, const Deadline& deadline) override;
    void barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) override;
    void flush(const WaitLimit& limit) override { client_.flush({"flush", {}, limit}); }
    std::shared_ptr<Store> clone(const WaitLimit& limit) override;
    void wake_waiting() override { client_.wake_waiting(); }

    [[nodiscard]] std::optional<std::string> local_address() const override {
        return client_.local_address();
    }
    [[nodiscard]] std::optional<std::string> remote_address() const override {
        return client_.remote().host();
    }
    [[nodiscard]] std::vector<std::string> remote_addresses() const override {
        return place_.addresses;
    }
    [[nodiscard]] bool only_this_host() const override { return place_.only_this_host; }
    [[nodiscard]] bool is_served_here() const override { return server_ != nullptr; }
    [[nodiscard]] Status lack_of_server() const override {
        return server_ == nullptr ? Status() : server_->lack();
    }
    [[nodiscard]] bool has_lost_server() const override { return client_.has_lost_server(); }
    [[nodiscard]] int port() const { return client_.remote().port(); }
    [[nodiscard]] const std::string& host() const { return place_.host; }
    // Says that this client is there, and on the master waits for the others.
    void join(int world_size, const Deadline& deadline);

private:
    void store(const StoreCall& call, Query query, const std::string& value);
    std::vector<std::string> fetch(const StoreCall& call, bool with_values);
    std::optional<std::vector<std::string>> fetch_now(const StoreCall& call,
                                                      const std::string& request, size_t values);
    std::optional<std::string> exchange_now(const StoreCall& call);
    std::vector<std::string> fetch_waiting(const StoreCall& call, const std::string& request,
                                           size_t values);
    std::string pop_waiting(const StoreCall& call, const std::string& key);

    const ServerPlace place_;
    const std::shared_ptr<TcpServer> server_;
    TcpClient client_;
};

TcpStore::TcpStore(ServerPlace place, std::shared_ptr<TcpServer> server,
                   std::unique_ptr<TcpConnection> connection)
    : place_(std::move(place)),
      server_(std::move(server)),
      client_(place_.host, std::move(connection)) {}

void TcpStore::join(int world_size, const Deadline& deadline) {
    client_.command({"joining", {}, deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::Add).bytes(protocol::joined_key).number(1).take(), deadline);
        return connection.read_number(deadline);
    });
    if (server_ == nullptr) return;
    const int64_t joined = server_->wait_for_joined(world_size, deadline);
    if (joined < world_size)
        throw Error(TUTTI_ERR_TIMEOUT, cat(client_.where(), ": timed out waiting for the clients: ",
                                           joined, " of ", world_size, " came"));
}

// SET, APPEND, QUEUE_PUSH: none of them is answered.
void TcpStore::store(const StoreCall& call, Query query, const std::string& value) {
    const std::string& key = call.keys.front();
    check_pair(key, value.size(), client_.limits_for(call, value.size()));
    if (value.size() < large_value_bytes)
        return client_.send_only(call, Writer(query).wire_key(key).bytes(value).take());
    client_.send_only(call, Writer(query).wire_key(key).count(value.size()).take(), value);
}

void TcpStore::set(const std::string& key, const std::string& value, const Deadline& deadline) {
    store({"set", Keys(&key, 1), deadline}, Query::Set, value);
}

void TcpStore::append(const std::string& key, const std::string& value, const Deadline& deadline) {
    store({"append", Keys(&key, 1), deadline}, Query::Append, value);
}

void TcpStore::queue_push(const std::string& key, const std::string& value,
                          const Deadline& deadline) {
    const StoreCall call = {"queue_push", Keys(&key, 1), deadline};
    check_key(key, client_.limits());
    client_.need_queues(call);
    store(call, Query::QueuePush, value);
}

void TcpStore::multi_set(Pairs pairs, const Deadline& deadline) {
    if (pairs.empty()) return;
    const StoreCall call = {"multi_set", Keys(&pairs.front().first, 1), deadline};
    size_t longest = 0;
    for (const auto& [key, value] : pairs) longest = std::max(longest, value.size());
    check_pairs(pairs, client_.limits_for(call, longest));
    Writer writer(Query::MultiSet);
    writer.count(pairs.size());
    for (const auto& [key, value] : pairs) writer.wire_key(key).bytes(value);
    client_.send_only(call, writer.take());
}

int64_t TcpStore::add(const std::string& key, int64_t amount, const Deadline& deadline) {
    check_key(key, client_.limits());
    return client_.command({"add", Keys(&key, 1), deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::Add).wire_key(key).number(amount).take(), deadline);
        return connection.read_number(deadline);
    });
}

bool TcpStore::check(Keys keys, const Deadline& deadline) {
    check_keys(keys, client_.limits());
    if (keys.empty()) return true;
    return client_.command({"check", keys, deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::Check).wire_keys(keys).take(), deadline);
        return connection.read_byte(deadline) == protocol::check_ready;
    });
}

std::string TcpStore::compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired, const Deadline& deadline) {
    const StoreCall call = {"compare_set", Keys(&key, 1), deadline};
    const size_t longest = std::max(expected.size(), desired.size());
    check_pair(key, longest, client_.limits_for(call, longest));
    return client_.command(call, [&](TcpConnection& connection) {
        connection.send(
            Writer(Query::CompareSet).wire_key(key).bytes(expected).bytes(desired).take(),
            deadline);
        return connection.read_bytes(deadline);
    });
}

bool TcpStore::delete_key(const std::string& key, const Deadline& deadline) {
    check_key(key, client_.limits());
    return client_.command({"delete_key", Keys(&key, 1), deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::DeleteKey).wire_key(key).take(), deadline);
        return connection.read_number(deadline) > 0;
    });
}

int64_t TcpStore::num_keys(const Deadline& deadline) {
    return client_.command({"num_keys", {}, deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::CountKeys).take(), deadline);
        return connection.read_number(deadline);
    });
}

// Without the keys that are not callers', as "init/".
std::vector<std::string> TcpStore::list_keys(const Deadline& deadline) {
    return client_.apart_if_known({"list_keys", {}, deadline}, [&](TcpConnection& connection) {
        connection.send(Writer(Query::ListKeys).take(), deadline);
        std::vector<std::string> keys;
        for (int64_t left = connection.read_number(deadline); left > 0; --left) {
            std::string key = connection.read_bytes(deadline);
            if (key.starts_with('/')) keys.push_back(key.substr(1));
        }
        return keys;
    });
}

std::string TcpStore::get(const std::string& key, const WaitLimit& limit) {
    return std::move(fetch({"get", Keys(&key, 1), limit}, true).front());
}

std::vector<std::string> TcpStore::multi_get(Keys keys, const WaitLimit& limit) {
    if (keys.empty()) return {};
    return fetch({"multi_get", keys, limit}, true);
}

void TcpStore::wait(Keys keys, const WaitLimit& limit) {
    if (!keys.empty()) (void)fetch({"wait", keys, limit}, false);
}

// The values of the keys, waiting for them if they are not there; none if !with_values. Asking
// first on the command connection serves what is there with no other connection, and its answer
// tells that everything this handle has set before has arrived, so that a wait on another
// connection cannot overtake it.
std::vector<std::string> TcpStore::fetch(const StoreCall& call, bool with_values) {
    check_keys(call.keys, client_.limits());
    if (with_values && call.keys.size() == 1 && !client_.server_is_tutti()) {
        if (auto there = exchange_now(call)) return {std::move(*there)};
        return fetch_waiting(call, Writer(Query::Get).wire_key(call.keys.front()).take(), 1);
    }
    std::string request;
    if (with_values && call.keys.size() == 1)
        request = Writer(Query::Get).wire_key(call.keys.front()).take();
    else if (with_values)
        request = Writer(Query::MultiGet).wire_keys(call.keys).take();
    const size_t values = with_values ? call.keys.size() : 0;
    if (auto there = fetch_now(call, request, values)) return std::move(*there);
    return fetch_waiting(call, request, values);
}

std::optional<std::vector<std::string>> TcpStore::fetch_now(const StoreCall& call,
                                                            const std::string& request,
                                                            size_t values) {
    using Values = std::optional<std::vector<std::string>>;
    return client_.command(call, [&](TcpConnection& connection) -> Values {
        const std::string question = Writer(Query::Check).wire_keys(call.keys).take();
        const bool at_once = connection.server_is_tutti();
        connection.send(at_once ? question + request : question, call.limit);
        const bool there = connection.read_byte(call.limit) == protocol::check_ready;
        if (there && !at_once && values > 0) connection.send(request, call.limit);
        std::vector<std::string> found(there || at_once ? values : 0);
        for (std::string& value : found) value = connection.read_bytes(call.limit);
        return there ? Values(std::move(found)) : std::nullopt;
    });
}

// PyTorch's server must not be asked for what may not be there, and asking first is a round trip.
// COMPARE_SET is one question that does both: to a key that is not there it answers with what was
// expected, here a text that nobody sets, and it changes no other value.
std::optional<std::string> TcpStore::exchange_now(const StoreCall& call) {
    return client_.command(call, [&](TcpConnection& connection) -> std::optional<std::string> {
        const std::string nobodys = cat("tutti/", connection.name());
        connection.send(Writer(Query::CompareSet)
                            .wire_key(call.keys.front())
                            .bytes(nobodys)
                            .bytes(nobodys)
                            .take(),
                        call.limit);
        std::string answer = connection.read_bytes(call.limit);
        return answer == nobodys ? std::nullopt : std::optional(std::move(answer));
    });
}

std::vector<std::string> TcpStore::fetch_waiting(const StoreCall& call, const std::string& request,
                                                 size_t values) {
    std::vector<std::string> found(values);
    const bool in_time = client_.apart(call, [&](TcpConnection& connection) {
        const bool at_once = connection.server_is_tutti();
        const std::string wait = Writer(Query::Wait).wire_keys(call.keys).take();
        if (!connection.wait(at_once ? wait + request : wait, at_once ? values : 0, call.limit))
            return false;
        if (!at_once && values > 0) connection.send(request, call.limit);
        for (std::string& value : found) value = connection.read_bytes(call.limit);
        return true;
    });
    if (!in_time) fail_wait(call.operation, call.keys, client_.where(), call.limit);
    return found;
}

// Asking first on the command connection, as fetch does and for the same reasons.
std::string TcpStore::queue_pop(const std::string& key, bool block, const WaitLimit& limit) {
    check_key(key, client_.limits());
    const StoreCall call = {"queue_pop", Keys(&key, 1), limit};
    client_.need_queues(call);
    auto there = client_.command(call, [&](TcpConnection& connection) {
        connection.send(Writer(Query::QueuePop).wire_key(key).take(), limit);
        return connection.read_popped(limit);
    });
    if (there) return std::move(*there);
    if (!block) fail_queue_empty(key, client_.where());
    return pop_waiting(call, key);
}

std::string TcpStore::pop_waiting(const StoreCall& call, const std::string& key) {
    const std::string wait = Writer(Query::Wait).wire_keys(call.keys).take();
    const std::string pop = Writer(Query::QueuePop).wire_key(key).take();
    std::optional<std::string> value;
    bool in_time = true;
    while (in_time && !value)  // another may have been faster
        client_.apart(call, [&](TcpConnection& connection) {
            if (connection.server_is_tutti()) {
                value = connection.wait_and_pop(key, call.limit, in_time);
            } else {
                in_time = connection.wait(wait, 0, call.limit);
                if (in_time) connection.send(pop, call.limit);
                if (in_time) value = connection.read_popped(call.limit);
            }
            return true;
        });
    if (!value) fail_wait(call.operation, call.keys, client_.where(), call.limit);
    return std::move(*value);
}

int64_t TcpStore::queue_len(const std::string& key, const Deadline& deadline) {
    check_key(key, client_.limits());
    const StoreCall call = {"queue_len", Keys(&key, 1), deadline};
    client_.need_queues(call);
    return client_.command(call, [&](TcpConnection& connection) {
        connection.send(Writer(Query::QueueLen).wire_key(key).take(), deadline);
        return connection.read_number(deadline);
    });
}

void TcpStore::barrier(const std::string& key, int64_t world_size, const WaitLimit& limit) {
    check_barrier(key, world_size, client_.limits());
    const StoreCall call = {"barrier", Keys(&key, 1), limit};
    const bool in_time = client_.apart_if_known(call, [&](TcpConnection& connection) {
        return connection.wait(Writer(Query::Barrier).wire_key(key).number(world_size).take(), 0,
                               limit);
    });
    if (!in_time) fail_wait(call.operation, call.keys, client_.where(), call.limit);
}

std::shared_ptr<Store> TcpStore::clone(const WaitLimit& limit) {
    auto other =
        std::make_shared<TcpStore>(place_, server_, client_.connect_once({"clone", {}, limit}));
    other->set_timeout_ms(timeout_ms());
    return other;
}

void check_options(const TcpStoreOptions& options) {
    if (options.host.empty() && !options.is_master)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, "TCP store: the host is not given");
    net::check_port(options.port);
    if (options.port == 0 && !options.is_master)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT, "TCP store: port 0 is for the master alone");
    if (options.world_size == 0 || options.world_size < -1)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    cat("TCP store: a world size of ", options.world_size, " is not possible"));
    if (options.listen_fd && !options.is_master)
        throw Error(TUTTI_ERR_INVALID_ARGUMENT,
                    "TCP store: a socket to listen at is for the master alone");
    if (options.is_master) check_limits(options.limits);
}

// A master that cannot let itself in would wait for its own server.
void check_own_connection() {
    constexpr int ends = 2;
    if (const int number = exhaustion_of_descriptors(ends); number != 0)
        throw system_error(TUTTI_ERR_NETWORK, "TCP store: connecting to its own server", number);
}

std::shared_ptr<TcpStore> connect_store(const TcpStoreOptions& options,
                                        const net::Endpoint& endpoint,
                                        std::shared_ptr<TcpServer> server,
                                        const Deadline& deadline) {
    auto connection = connect_to_store(options.host, endpoint, deadline);
    ServerPlace place{.host = options.host, .addresses = {}};
    std::string no_answer;  // of a resolver that has answered before
    for (const auto& one : net::resolve(endpoint, &no_answer)) {
        place.addresses.push_back(one.host());
    }
    place.only_this_host = server ? server->only_this_host() : means_this_host(options.host);
    auto store =
        std::make_shared<TcpStore>(std::move(place), std::move(server), std::move(connection));
    store->set_timeout_ms(options.timeout_ms);
    return store;
}

std::shared_ptr<Store> join_store(const TcpStoreOptions& options, const net::Endpoint& endpoint,
                                  const std::shared_ptr<TcpServer>& server,
                                  const Deadline& deadline) {
    while (true) {
        auto store = connect_store(options, endpoint, server, deadline);
        try {
            if (options.wait_for_workers && options.world_size > 0)
                store->join(options.world_size, deadline);
            return store;
        } catch (const Error&) {
            // It was the server of an earlier run, which ends just now: ours is there soon.
            if (server || !store->has_lost_server() || deadline.expired()) throw;
        }
        WaitLimit(deadline).sleep(pause_after_a_loss);
    }
}

// The others of a world whose server has no descriptor to be of use. Nobody can count whom of them
// it has told: a client comes several times.
void turn_others_away(TcpServer& server, int world_size, const Deadline& deadline) {
    constexpr int64_t stay_ms = 3000;
    if (world_size <= 1) return;
    server.turn_all_away();
    sleep_until(deadline.or_earlier(Deadline::after_ms(stay_ms)));
}

}  // namespace

std::shared_ptr<Store> make_tcp_store(const TcpStoreOptions& options) {
    check_options(options);
    const Deadline deadline = Deadline::after_ms(options.timeout_ms);
    net::Endpoint endpoint = {options.host, options.port};
    std::shared_ptr<TcpServer> server;
    if (options.is_master) server = serve_store(options, endpoint);
    try {
        if (server) check_own_connection();
        return join_store(options, endpoint, server, deadline);
    } catch (const Error& error) {
        // The others may have taken what this one's own connection needed.
        const bool lacks = server && (error.status().is_own_exhaustion || !server->lack().ok());
        if (lacks && !options.multi_tenant) turn_others_away(*server, options.world_size, deadline);
        throw;
    }
}

std::optional<int> tcp_store_port(const Store& store) {
    const auto* tcp = dynamic_cast<const TcpStore*>(&store);
    return tcp == nullptr ? std::nullopt : std::optional(tcp->port());
}

std::optional<std::string> tcp_store_host(const Store& store) {
    const auto* tcp = dynamic_cast<const TcpStore*>(&store);
    return tcp == nullptr ? std::nullopt : std::optional(tcp->host());
}

std::unique_ptr<StoreServer> make_store_server(const std::string& host, int port,
                                               const StoreLimits& limits) {
    check_limits(limits);
    return std::make_unique<TcpServer>(bind_store_server(host, port).sockets, limits);
}

}  // namespace tutti
