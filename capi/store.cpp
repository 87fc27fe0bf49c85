// tutti/store.h. Any thread.
#include "tutti/store.h"

#include "arguments.hpp"
#include "guard.hpp"
#include "handle.hpp"
#include "options.hpp"
#include "reaper.hpp"
#include "store/limits.hpp"

namespace capi = tutti::capi;

namespace {

using StorePin = capi::Pin<tutti_store>;

tutti::Deadline deadline(const StorePin& store, int64_t timeout_ms) {
    capi::check_timeout(timeout_ms, "timeout_ms");
    return timeout_ms == 0 ? store->default_deadline() : tutti::Deadline::after_ms(timeout_ms);
}

tutti_bytes* hand_out_bytes(std::string value) {
    return capi::hand_out<tutti_bytes>(std::make_shared<const std::string>(std::move(value)));
}

// What is longer than any store takes is not copied first.
std::string read_value(const void* value, size_t size, const std::string& argument) {
    const auto memory = capi::read_memory(value, size, argument);
    constexpr size_t most = tutti::store_limits::most_value_bytes;
    if (size > most)
        capi::refuse(argument, " has ", size, " bytes; no store takes more than ", most);
    return {reinterpret_cast<const char*>(memory.data()), memory.size()};
}

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

// The keys that C can name, each with a NUL behind it, and how many they are.
std::pair<std::string, int64_t> join_keys(const std::vector<std::string>& keys) {
    std::pair<std::string, int64_t> joined;
    for (const std::string& key : keys) {
        if (key.find('\0') != std::string::npos) continue;
        joined.first.append(key.c_str(), key.size() + 1);
        ++joined.second;
    }
    return joined;
}

}  // namespace

extern "C" {

tutti_status tutti_hash_store_create(tutti_store** out_store, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        capi::need_output(out_store, "out_store");
        *out_store = capi::hand_out<tutti_store>(tutti::make_hash_store());
    });
}

tutti_status tutti_file_store_create(const char* path, int32_t world_size, tutti_store** out_store,
                                     tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
        const std::string name = capi::read_text(path, "path");
        if (name.empty()) capi::refuse("path is empty");
        check_world_size(world_size);
        capi::need_output(out_store, "out_store");
        capi::let_releases_end();
        *out_store = capi::hand_out<tutti_store>(tutti::make_file_store(name, world_size));
    });
}

void tutti_tcp_store_options_init(tutti_tcp_store_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_tcp_store_create(const char* host, int32_t port, int32_t world_size,
                                    int32_t is_master, const tutti_tcp_store_options* options,
                                    tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
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
        if (wanted.is_master) capi::let_releases_end();
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

tutti_status tutti_store_clone(tutti_store* store, tutti_store** out_store, tutti_error* error) {
    return capi::guard<capi::Naming::All>(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_store, "out_store");
        *out_store = capi::hand_out<tutti_store>(pin->clone(pin->default_deadline()));
    });
}

tutti_status tutti_prefix_store_create(const char* prefix, tutti_store* store,
                                       tutti_store** out_store, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_store, "out_store");
        *out_store = capi::hand_out<tutti_store>(
            tutti::make_prefix_store(capi::read_text(prefix, "prefix"), pin.share()));
    });
}

tutti_status tutti_store_set(tutti_store* store, const char* key, const void* value, size_t size,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->set(capi::read_text(key, "key"), read_value(value, size, "value"),
                 pin->default_deadline());
    });
}

tutti_status tutti_store_get(tutti_store* store, const char* key, tutti_bytes** out_value,
                             tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_value, "out_value");
        *out_value = hand_out_bytes(pin->get(capi::read_text(key, "key"), pin->default_deadline()));
    });
}

tutti_status tutti_store_add(tutti_store* store, const char* key, int64_t amount,
                             int64_t* out_value, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_value, "out_value");
        *out_value = pin->add(capi::read_text(key, "key"), amount, pin->default_deadline());
    });
}

tutti_status tutti_store_append(tutti_store* store, const char* key, const void* value, size_t size,
                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->append(capi::read_text(key, "key"), read_value(value, size, "value"),
                    pin->default_deadline());
    });
}

tutti_status tutti_store_check(tutti_store* store, const char* const* keys, size_t count,
                               int32_t* out_found, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_found, "out_found");
        *out_found = pin->check(capi::read_keys(keys, count), pin->default_deadline()) ? 1 : 0;
    });
}

tutti_status tutti_store_wait(tutti_store* store, const char* const* keys, size_t count,
                              int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->wait(capi::read_keys(keys, count), deadline(pin, timeout_ms));
    });
}

tutti_status tutti_store_compare_set(tutti_store* store, const char* key, const void* expected,
                                     size_t expected_size, const void* desired, size_t desired_size,
                                     tutti_bytes** out_value, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_value, "out_value");
        *out_value = hand_out_bytes(pin->compare_set(
            capi::read_text(key, "key"), read_value(expected, expected_size, "expected"),
            read_value(desired, desired_size, "desired"), pin->default_deadline()));
    });
}

tutti_status tutti_store_delete_key(tutti_store* store, const char* key, int32_t* out_deleted,
                                    tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_deleted, "out_deleted");
        *out_deleted =
            pin->delete_key(capi::read_text(key, "key"), pin->default_deadline()) ? 1 : 0;
    });
}

tutti_status tutti_store_multi_get(tutti_store* store, const char* const* keys, size_t count,
                                   tutti_bytes** out_values, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_array(out_values, count, "out_values");
        std::vector<std::shared_ptr<const std::string>> values;
        std::vector<capi::Reserved<tutti_bytes>> slots(count);
        for (std::string& value :
             pin->multi_get(capi::read_keys(keys, count), pin->default_deadline())) {
            values.push_back(std::make_shared<const std::string>(std::move(value)));
        }
        for (size_t i = 0; i < count; ++i) out_values[i] = slots[i].publish(std::move(values[i]));
    });
}

tutti_status tutti_store_multi_set(tutti_store* store, const char* const* keys,
                                   const void* const* values, const size_t* sizes, size_t count,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_array(keys, count, "keys");
        capi::need_array(values, count, "values");
        capi::need_array(sizes, count, "sizes");
        std::vector<std::pair<std::string, std::string>> pairs;
        pairs.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            std::string key = capi::read_text(keys[i], capi::indexed("keys", i));
            pairs.emplace_back(std::move(key),
                               read_value(values[i], sizes[i], capi::indexed("values", i)));
        }
        pin->multi_set(pairs, pin->default_deadline());
    });
}

tutti_status tutti_store_num_keys(tutti_store* store, int64_t* out_count, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_count, "out_count");
        *out_count = pin->num_keys(pin->default_deadline());
    });
}

tutti_status tutti_store_queue_push(tutti_store* store, const char* key, const void* value,
                                    size_t size, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        pin->queue_push(capi::read_text(key, "key"), read_value(value, size, "value"),
                        pin->default_deadline());
    });
}

tutti_status tutti_store_queue_pop(tutti_store* store, const char* key, int32_t block,
                                   tutti_bytes** out_value, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const std::string name = capi::read_text(key, "key");
        capi::check_flag(static_cast<uint32_t>(block), "block");
        capi::need_output(out_value, "out_value");
        capi::Reserved<tutti_bytes> slot;  // before a value is taken that could not be given back
        *out_value = slot.publish(std::make_shared<const std::string>(
            pin->queue_pop(name, block == 1, pin->default_deadline())));
    });
}

tutti_status tutti_store_queue_len(tutti_store* store, const char* key, int64_t* out_length,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_length, "out_length");
        *out_length = pin->queue_len(capi::read_text(key, "key"), pin->default_deadline());
    });
}

tutti_status tutti_store_list_keys(tutti_store* store, tutti_bytes** out_keys, int64_t* out_count,
                                   tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_keys, "out_keys");
        capi::need_output(out_count, "out_count");
        auto [keys, count] = join_keys(pin->list_keys(pin->default_deadline()));
        *out_keys = hand_out_bytes(std::move(keys));
        *out_count = count;
    });
}

tutti_status tutti_store_barrier(tutti_store* store, const char* key, int32_t world_size,
                                 int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        const std::string name = capi::read_text(key, "key");
        if (world_size < 1) capi::refuse("world_size is ", world_size, "; it must be 1 or more");
        pin->barrier(name, world_size, deadline(pin, timeout_ms));
    });
}

tutti_status tutti_store_has_extended_api(tutti_store* store, int32_t* out_has,
                                          tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_has, "out_has");
        *out_has = pin->has_extended_api() ? 1 : 0;
    });
}

tutti_status tutti_store_set_timeout(tutti_store* store, int64_t timeout_ms, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        if (timeout_ms == 0 || timeout_ms < -1) {
            capi::refuse("timeout_ms is ", timeout_ms,
                         "; it must be above 0, or TUTTI_NO_TIMEOUT (-1)");
        }
        pin->set_timeout_ms(timeout_ms);
    });
}

tutti_status tutti_store_get_timeout(tutti_store* store, int64_t* out_timeout_ms,
                                     tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const StorePin pin(store, "store");
        capi::need_output(out_timeout_ms, "out_timeout_ms");
        *out_timeout_ms = pin->timeout_ms();
    });
}

void tutti_store_release(tutti_store* store) {
    if (!capi::forked()) capi::release(store);
}

}  // extern "C"
