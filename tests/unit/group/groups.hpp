// Process groups whose ranks are threads of one process, over the backend that the argument names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/registry.hpp"
#include "base/error.hpp"
#include "group/group.hpp"
#include "support/null/null.hpp"
#include "unit/transport/ranks.hpp"

namespace tutti::test {

using Groups = std::vector<std::shared_ptr<Group>>;

// First in main: backends of the library and of tests can be named.
inline void choose_backend(int count, char** arguments) {
    find_null_backends();
    choose_channel(count, arguments);
}

// The capabilities of the backend.
inline Capabilities abilities() {
    return capabilities_of(resolve_backend(channel_name()));
}

inline bool has_messages() {
    return abilities().messages;
}

// First in a test that is about something that not every backend has.
inline void only_if(bool has_it) {
    if (!has_it) skip();
}

inline GroupOptions options(const std::shared_ptr<Store>& store, int rank, int size) {
    GroupOptions options;
    options.backend = channel_name();
    options.store = store;
    options.rank = rank;
    options.size = size;
    options.name = "team";
    options.timeout_ms = 60'000;
    return options;
}

inline Groups make(int size) {
    Groups groups(static_cast<size_t>(size));
    const auto store = make_hash_store();
    on_ranks(size, [&](int rank) {
        groups[static_cast<size_t>(rank)] = Group::create(options(store, rank, size));
    });
    return groups;
}

struct Numbers {
    explicit Numbers(size_t count, int32_t value) : data(count, value) {}
    std::vector<int32_t> data;
    View view() { return {data.data(), static_cast<int64_t>(data.size()), TUTTI_INT32}; }
    AllReduce sum() { return {view(), view(), TUTTI_SUM}; }
};

inline Status status_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.status();
    }
    return {};
}

inline bool contains(const std::string& text, const std::string& fragment) {
    return text.find(fragment) != std::string::npos;
}

}  // namespace tutti::test
