// The face of the stores: where processes meet. Keys and values are any bytes; every call may come
// from any thread, and a wait of one thread does not delay another's call. Failures are Errors:
// TIMEOUT, STORE, NETWORK, INVALID_ARGUMENT, and ABORTED for a wait that was interrupted.
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
#include "base/status.hpp"
#include "interruption.hpp"
#include "limits.hpp"

namespace tutti {

class Store {
public:
    using Keys = std::span<const std::string>;
    using Pairs = std::span<const std::pair<std::string, std::string>>;

    virtual ~Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    virtual void set(const std::string& key, const std::string& value, const Deadline&) = 0;
    // Waits for the key. Here and below, a call with a WaitLimit can be interrupted.
    virtual std::string get(const std::string& key, const WaitLimit&) = 0;
    virtual int64_t add(const std::string& key, int64_t amount, const Deadline&) = 0;
    virtual void append(const std::string& key, const std::string& value, const Deadline&) = 0;
    virtual bool check(Keys keys, const Deadline&) = 0;
    virtual void wait(Keys keys, const WaitLimit&) = 0;
    // The value afterwards; `expected` if the key is missing and `expected` is not empty.
    virtual std::string compare_set(const std::string& key, const std::string& expected,
                                    const std::string& desired, const Deadline&) = 0;
    virtual bool delete_key(const std::string& key, const Deadline&) = 0;
    // Waits for all keys; values in their order.
    virtual std::vector<std::string> multi_get(Keys keys, const WaitLimit&) = 0;
    virtual void multi_set(Pairs pairs, const Deadline&) = 0;
    virtual int64_t num_keys(const Deadline&) = 0;
    // The keys that this handle can name, in no order.
    virtual std::vector<std::string> list_keys(const Deadline&) = 0;

    // Queues are apart from values, but check and wait find those that are not empty.
    virtual void queue_push(const std::string& key, const std::string& value, const Deadline&) = 0;
    // Throws QUEUE_EMPTY if there is nothing and !block. One that fails has taken no value.
    virtual std::string queue_pop(const std::string& key, bool block, const WaitLimit&) = 0;
    virtual int64_t queue_len(const std::string& key, const Deadline&) = 0;

    // Until `world_size` callers have come, all their earlier writes done. Serves once.
    virtual void barrier(const std::string& key, int64_t world_size, const WaitLimit&) = 0;

    // Returns when everything that this handle sent has arrived. Throws STORE if something that was
    // sent since the last flush was refused, or may be lost.
    virtual void flush(const WaitLimit&) {}

    // Another handle of the same store, with this one's timeout.
    virtual std::shared_ptr<Store> clone(const WaitLimit&) = 0;
    // Whether append, multi_get and multi_set work.
    [[nodiscard]] virtual bool has_extended_api() const { return true; }

    // The address by which this process reaches the store, and the one it reaches there; nothing if
    // the store is not on a network. Numeric, IPv4 or IPv6.
    [[nodiscard]] virtual std::optional<std::string> local_address() const { return std::nullopt; }
    [[nodiscard]] virtual std::optional<std::string> remote_address() const { return std::nullopt; }
    // All addresses of the name by which it was given.
    [[nodiscard]] virtual std::vector<std::string> remote_addresses() const { return {}; }
    // Whether a call has failed because its server is gone, as far as this process knows. Another
    // one may serve there soon.
    [[nodiscard]] virtual bool has_lost_server() const { return false; }
    // Whether it can be reached from this host alone, as far as this process knows.
    [[nodiscard]] virtual bool only_this_host() const { return false; }
    // Whether its server ends with this process.
    [[nodiscard]] virtual bool is_served_here() const { return false; }
    // Why that has turned clients away, if it lacks descriptors for them.
    [[nodiscard]] virtual Status lack_of_server() const { return {}; }

    // Milliseconds, -1 for never: what the C API's calls use by default.
    [[nodiscard]] int64_t timeout_ms() const { return timeout_ms_; }
    void set_timeout_ms(int64_t timeout_ms) { timeout_ms_ = timeout_ms; }
    [[nodiscard]] Deadline default_deadline() const { return Deadline::after_ms(timeout_ms_); }

    // The object that ends a call on this handle when the handle is interrupted; for its WaitLimit.
    [[nodiscard]] std::shared_ptr<Interruption> interruption() { return interruptible_.current(); }
    // Ends every call that was given it before: ABORTED.
    void interrupt() {
        interruptible_.interrupt();
        wake_waiting();
    }
    // Calls that wait look again whether they are interrupted.
    virtual void wake_waiting() {}

protected:
    Store() = default;

private:
    std::atomic<int64_t> timeout_ms_{store_limits::default_timeout_ms};
    Interruptible interruptible_;
};

std::shared_ptr<Store> make_hash_store();
// The keys of `store` behind "prefix/".
std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store);
// The store behind a prefix store; nothing for another kind.
std::shared_ptr<Store> prefix_store_underlying(const Store& store);
// world_size -1: not fixed. A rank, if one is given, is taken until the store closes;
// INVALID_ARGUMENT if another process of tutti has it, or had it and ended without closing. The
// deadline is of opening, which waits while others lock the file.
std::shared_ptr<Store> make_file_store(
    const std::string& path, int world_size, int rank = -1,
    const Deadline& deadline = Deadline::after_ms(store_limits::default_timeout_ms));
// The path of a file store, absolute; nothing for another kind.
std::optional<std::string> file_store_path(const Store& store);

struct TcpStoreOptions {
    std::string host;
    int port = 0;
    int world_size = -1;  // -1: not fixed
    bool is_master = false;
    bool wait_for_workers = true;
    int64_t timeout_ms = store_limits::default_timeout_ms;
    // The rest is the master's. Masters of one port in this process share the server, if both say
    // so; it has the limits of the first.
    bool multi_tenant = false;
    std::optional<int> listen_fd;  // a TCP socket that is bound; duplicated
    StoreLimits limits;
};
std::shared_ptr<Store> make_tcp_store(const TcpStoreOptions& options);
// The port and the host, as it was given, of a TCP store; nothing for another kind.
std::optional<int> tcp_store_port(const Store& store);
std::optional<std::string> tcp_store_host(const Store& store);

// A server on its own, for launchers: serves until destroyed. Port 0: any free one.
class StoreServer {
public:
    virtual ~StoreServer() = default;
    [[nodiscard]] virtual int port() const = 0;
};
std::unique_ptr<StoreServer> make_store_server(const std::string& host, int port,
                                               const StoreLimits& limits = {});

}  // namespace tutti
