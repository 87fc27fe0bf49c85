// The face of the stores: where processes meet. Keys and values are any bytes; every call may come
// from any thread, and a wait of one thread does not delay another's call. Failures are Errors:
// TIMEOUT, STORE, NETWORK, INVALID_ARGUMENT.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"

namespace tutti {

class Store {
public:
    using Keys = std::span<const std::string>;
    using Pairs = std::span<const std::pair<std::string, std::string>>;

    virtual ~Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    virtual void set(const std::string& key, const std::string& value, const Deadline&) = 0;
    // Waits for the key.
    virtual std::string get(const std::string& key, const Deadline&) = 0;
    virtual int64_t add(const std::string& key, int64_t amount, const Deadline&) = 0;
    virtual void append(const std::string& key, const std::string& value, const Deadline&) = 0;
    virtual bool check(Keys keys, const Deadline&) = 0;
    virtual void wait(Keys keys, const Deadline&) = 0;
    // The value afterwards; `expected` if the key is missing and `expected` is not empty.
    virtual std::string compare_set(const std::string& key, const std::string& expected,
                                    const std::string& desired, const Deadline&) = 0;
    virtual bool delete_key(const std::string& key, const Deadline&) = 0;
    // Waits for all keys; values in their order.
    virtual std::vector<std::string> multi_get(Keys keys, const Deadline&) = 0;
    virtual void multi_set(Pairs pairs, const Deadline&) = 0;
    virtual int64_t num_keys(const Deadline&) = 0;

    // The address by which this process reaches the store, and the one it reaches there; nothing if
    // the store is not on a network. Numeric, IPv4 or IPv6.
    [[nodiscard]] virtual std::optional<std::string> local_address() const { return std::nullopt; }
    [[nodiscard]] virtual std::optional<std::string> remote_address() const { return std::nullopt; }

    // Milliseconds, -1 for never: what the C API's calls use by default.
    [[nodiscard]] int64_t timeout_ms() const { return timeout_ms_; }
    void set_timeout_ms(int64_t timeout_ms) { timeout_ms_ = timeout_ms; }
    [[nodiscard]] Deadline default_deadline() const { return Deadline::after_ms(timeout_ms_); }

protected:
    Store() = default;

private:
    std::atomic<int64_t> timeout_ms_{300'000};
};

std::shared_ptr<Store> make_hash_store();
// The keys of `store` behind "prefix/".
std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store);
// world_size -1: not fixed.
std::shared_ptr<Store> make_file_store(const std::string& path, int world_size);

struct TcpStoreOptions {
    std::string host;
    int port = 0;
    int world_size = -1;  // -1: not fixed
    bool is_master = false;
    bool wait_for_workers = true;
    int64_t timeout_ms = 300'000;
};
std::shared_ptr<Store> make_tcp_store(const TcpStoreOptions& options);
// The port of a TCP store; nothing for another kind.
std::optional<int> tcp_store_port(const Store& store);

// A server on its own, for launchers: serves until destroyed. Port 0: any free one.
class StoreServer {
public:
    virtual ~StoreServer() = default;
    [[nodiscard]] virtual int port() const = 0;
};
std::unique_ptr<StoreServer> make_store_server(const std::string& host, int port);

}  // namespace tutti
