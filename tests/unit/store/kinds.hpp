// Two handles on a store of every kind, for what all kinds promise alike.
#pragma once

#include <functional>
#include <memory>

#include "store/store.hpp"
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
