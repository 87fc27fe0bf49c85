// Two handles on a store of every kind, for what all kinds promise alike.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "store/store.hpp"
#include "store/user_store.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace tutti::test {

using Names = std::vector<std::string>;

// Two handles on one empty store, and what they need.
struct Opened {
    std::shared_ptr<void> holder;
    std::shared_ptr<Store> first;
    std::shared_ptr<Store> second;
};

inline Opened open_hash() {
    auto store = make_hash_store();
    return {nullptr, store, store};
}

inline Opened open_file() {
    auto folder = std::make_shared<TemporaryFolder>();
    const std::string path = folder->file("store");
    return {folder, make_file_store(path, 2), make_file_store(path, 2)};
}

inline Opened open_tcp() {
    TcpStoreOptions options;
    options.host = "127.0.0.1";
    options.is_master = true;
    auto master = make_tcp_store(options);
    options.is_master = false;
    options.port = tcp_store_port(*master).value();
    return {nullptr, master, make_tcp_store(options)};
}

// A hash store as a stranger's table of functions gives it, which has what it must have, and keys.
inline tutti_status exchange(void* store, const tutti_slice* key, const tutti_slice* expected,
                             const tutti_slice* desired, int32_t* out_was_set,
                             tutti_give_function give, void* to, tutti_error* error) {
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    const tutti_store_table& ours = table_of_stores();
    int32_t is_there = 0;
    std::string old;
    const auto take = [](void* text, const void* data, size_t size) {
        static_cast<std::string*>(text)->assign(static_cast<const char*>(data), size);
    };
    ours.check(store, key, 1, &is_there, error);
    if (is_there != 0) ours.get(store, key, 0, take, &old, error);
    const std::string_view wanted(static_cast<const char*>(expected->data), expected->size);
    *out_was_set = old == wanted ? 1 : 0;
    if (*out_was_set != 0) {
        give(to, desired->data, desired->size);
        return ours.set(store, key, desired, error);
    }
    if (is_there != 0) give(to, old.data(), old.size());
    return TUTTI_OK;
}

inline tutti_status give_keys(void* store, tutti_give_function give, void* to, tutti_error*) {
    const auto keys = static_cast<Store*>(store)->list_keys(Deadline::never());
    for (const std::string& key : keys) give(to, key.data(), key.size());
    return TUTTI_OK;
}

inline Opened open_user() {
    auto hash = make_hash_store();
    tutti_store_table table = table_of_stores();
    table.name = "strange";
    table.compare_set = exchange;
    table.list_keys = give_keys;
    auto store = make_user_store(table, hash.get());
    return {hash, store, store->clone(Deadline::never())};
}

inline Opened with_prefix(Opened opened) {
    // Keys outside the prefix must not be mistaken for those inside.
    opened.first->set("value", "of another", Deadline::never());
    opened.first = make_prefix_store("one", opened.first);
    opened.second = make_prefix_store("one", opened.second);
    return opened;
}

inline std::function<Opened()> open_store;

inline Deadline ample() {
    return Deadline::after_ms(60'000);
}
inline Deadline soon() {
    return Deadline::after_ms(50);
}

// Runs the tests for each kind; how many failed.
template <size_t count>
int run_for_every_kind(const CMUnitTest (&tests)[count]) {
    const std::pair<const char*, std::function<Opened()>> kinds[] = {
        {"hash store", open_hash},
        {"prefix store over hash store", [] { return with_prefix(open_hash()); }},
        {"file store", open_file},
        {"TCP store", open_tcp},
        {"store of functions", open_user},
        {"prefix store over TCP store", [] { return with_prefix(open_tcp()); }},
    };
    int failures = 0;
    for (const auto& [name, open] : kinds) {
        open_store = open;
        failures += cmocka_run_group_tests_name(name, tests, nullptr, nullptr);
    }
    return failures;
}

}  // namespace tutti::test
