#include "registry.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.hpp"
#include "channel_backend.hpp"
#include "gloo/gloo.hpp"
#include "loopback/loopback.hpp"

namespace tutti {

namespace {

constexpr const char* default_backend = "gloo";

struct Entry {
    const char* name;
    std::unique_ptr<Channel> (*connect)(const std::shared_ptr<Store>&, int rank, int size,
                                        const Deadline&);
};

constexpr std::array<Entry, 2> entries{{
    {"gloo", gloo_channel::connect},
    {"loopback",
     [](const std::shared_ptr<Store>& store, int rank, int size, const Deadline& deadline) {
         return loopback::connect(*store, rank, size, deadline);
     }},
}};

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

const Entry* find(const std::string& name) {
    const auto found = std::ranges::find(entries, name, &Entry::name);
    return found == entries.end() ? nullptr : &*found;
}

}  // namespace

bool is_backend_available(const std::string& name) {
    return find(lower(name)) != nullptr;
}

std::string resolve_backend(const std::string& name) {
    if (name.empty()) return default_backend;
    std::string resolved = lower(name);
    if (find(resolved) != nullptr) return resolved;
    std::string known;
    for (const Entry& entry : entries) known += cat(known.empty() ? "" : ", ", entry.name);
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend is \"", name, "\"; this build knows: ", known));
}

const char* static_backend_name(const std::string& name) {
    return find(name)->name;
}

std::unique_ptr<Backend> make_backend(const std::string& name, const std::shared_ptr<Store>& store,
                                      int rank, int size, const Deadline& deadline) {
    const Entry& entry = *find(name);
    return std::make_unique<ChannelBackend>(size == 1 ? loopback::alone(entry.name)
                                                      : entry.connect(store, rank, size, deadline));
}

}  // namespace tutti
