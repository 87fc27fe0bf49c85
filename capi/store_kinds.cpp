// The kinds of stores of tutti/store.h: how each is made, and what only it can tell. Any thread.
#include "arguments.hpp"
#include "guard.hpp"
#include "reaper.hpp"
#include "store.hpp"
#include "store/limits.hpp"
#include "store/user_store.hpp"

namespace capi = tutti::capi;
using capi::effective_timeout;
using capi::hand_out_bytes;
using capi::StorePin;

namespace {

// A limit of the options; 0 leaves the default.
template <typename Number>
void read_limit(Number given, const char* name, size_t& limit) {
    if (given < 0) capi::refuse("options.", name, " is ", given, "; it must be 0 or more");
    if (given > 0) limit = static_cast<size_t>(given);
}

void check_world_size(int32_t world_size) {
    if (world_size < 1 && world_size != -1) {
        capi::refuse("world_size is ", world_size, "; it must be 1 or more, or -1: not fixed");
    }
}

void read_server_options(const tutti_tcp_store_options& options, tutti::TcpStoreOptions& wanted) {
    capi::check_flag(options.multi_tenant, "options.multi_tenant");
    capi::check_flag(options.has_master_listen_fd, "options.has_master_listen_fd");
    if (options.has_master_listen_fd == 0 && options.master_listen_fd != 0)
        capi::refuse("options.master_listen_fd is given, but not has_master_listen_fd");
    if (options.has_master_listen_fd == 1 && !wanted.is_master)
        capi::refuse("options.master_listen_fd is given, but is_master is 0");
    wanted.multi_tenant = options.multi_tenant == 1;
    if (options.has_master_listen_fd == 1) wanted.listen_fd = options.master_listen_fd;
    read_limit(options.max_connections, "max_connections", wanted.limits.connections);
    read_limit(options.max_key_bytes, "max_key_bytes", wanted.limits.key_bytes);
    read_limit(options.max_value_bytes, "max_value_bytes", wanted.limits.value_bytes);
    read_limit(options.max_keys_per_request, "max_keys_per_request",
               wanted.limits.keys_per_request);
    read_limit(options.max_memory_bytes, "max_memory_bytes", wanted.limits.memory_bytes);
}

}  // namespace

extern "C" {

tutti_status tutti_hash_store_create(tutti_store** out_store, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::need_output(out_store, "out_store");
        *out_store = capi::hand_out<tutti_store>(tutti::make_hash_store());
    });
}

void tutti_store_options_init(tutti_store_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_file_store_create(const char* path, int32_t world_size,
                                     const tutti_store_options* options, tutti_store** out_store,
                                     tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const std::string name = capi::read_text(path, "path");
        if (name.empty()) capi::refuse("path is empty");
        check_world_size(world_size);
        const int64_t timeout_ms = effective_timeout(capi::read_options(options).timeout_ms,
                                                     tutti::store_limits::default_timeout_ms);
        capi::need_output(out_store, "out_store");
        capi::drain_reaper();
        auto store =
            tutti::make_file_store(name, world_size, -1, tutti::Deadline::after_ms(timeout_ms));
        store->set_timeout_ms(timeout_ms);
        *out_store = capi::hand_out<tutti_store>(std::move(store));
    });
}

tutti_status tutti_store_open(const char* name, const char* address,
                              const tutti_store_options* options, tutti_store** out_store,
                              tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const std::string library = capi::read_text(name, "name");
        const std::string given = address == nullptr ? "" : capi::read_text(address, "address");
        const int64_t timeout_ms = effective_timeout(capi::read_options(options).timeout_ms,
                                                     tutti::store_limits::default_timeout_ms);
        capi::need_output(out_store, "out_store");
        *out_store =
            capi::hand_out<tutti_store>(tutti::open_store_of_library(library, given, timeout_ms));
    });
}

void tutti_tcp_store_options_init(tutti_tcp_store_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_tcp_store_create(const char* host, int32_t port, int32_t world_size,
                                    int32_t is_master, const tutti_tcp_store_options* options,
                                    tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const tutti_tcp_store_options read = capi::read_options(options);
        capi::check_flag(read.no_wait_for_workers, "options.no_wait_for_workers");
        capi::check_flag(static_cast<uint32_t>(is_master), "is_master");
        if (port < 0 || port > 65535) {
            capi::refuse("port is ", port, "; it must be from 0 to 65535");
        }
        if (port == 0 && is_master == 0)
            capi::refuse("port is 0, which only the master can choose");
        check_world_size(world_size);
        tutti::TcpStoreOptions wanted;
        wanted.host = capi::read_text(host, "host");
        if (wanted.host.empty()) capi::refuse("host is empty");
        wanted.port = port;
        wanted.world_size = world_size;
        wanted.is_master = is_master == 1;
        wanted.wait_for_workers = read.no_wait_for_workers == 0;
        if (read.timeout_ms != 0) wanted.timeout_ms = read.timeout_ms;
        read_server_options(read, wanted);
        capi::need_output(out_store, "out_store");
        if (wanted.is_master) capi::drain_reaper();
        *out_store = capi::hand_out<tutti_store>(tutti::make_tcp_store(wanted));
    });
}

tutti_status tutti_tcp_store_port(tutti_store* store, int32_t* out_port, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_port, "out_port");
        const auto port = tutti::tcp_store_port(*pin);
        if (!port) capi::refuse("store is not a TCP store");
        *out_port = *port;
    });
}

tutti_status tutti_tcp_store_host(tutti_store* store, tutti_bytes** out_host, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_host, "out_host");
        auto host = tutti::tcp_store_host(*pin);
        if (!host) capi::refuse("store is not a TCP store");
        *out_host = hand_out_bytes(std::move(*host));
    });
}

tutti_status tutti_file_store_path(tutti_store* store, tutti_bytes** out_path, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_path, "out_path");
        auto path = tutti::file_store_path(*pin);
        if (!path) capi::refuse("store is not a file store");
        *out_path = hand_out_bytes(std::move(*path));
    });
}

tutti_status tutti_prefix_store_underlying_store(tutti_store* store, tutti_store** out_store,
                                                 tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_store, "out_store");
        auto underlying = tutti::prefix_store_underlying(*pin);
        if (underlying == nullptr) capi::refuse("store is not a prefix store");
        *out_store = capi::hand_out<tutti_store>(std::move(underlying));
    });
}

tutti_status tutti_store_clone(tutti_store* store, const tutti_store_options* options,
                               tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::ErrorPrefix::All>(__func__, error, [&] {
        const StorePin pin(store, "store");
        const int64_t timeout_ms = capi::read_options(options).timeout_ms;
        capi::need_output(out_store, "out_store");
        auto clone = pin->clone(capi::CallLimit(pin, timeout_ms));
        if (timeout_ms != TUTTI_DEFAULT_TIMEOUT) clone->set_timeout_ms(timeout_ms);
        *out_store = capi::hand_out<tutti_store>(std::move(clone));
    });
}

tutti_status tutti_prefix_store_create(tutti_store* store, const char* prefix,
                                       tutti_store** out_store, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_store, "out_store");
        *out_store = capi::hand_out<tutti_store>(
            tutti::make_prefix_store(capi::read_text(prefix, "prefix"), pin.share()));
    });
}

}  // extern "C"
