#include "registry.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.hpp"
#include "base/log.hpp"
#include "channel_backend.hpp"
#include "gloo/gloo.hpp"
#include "hierarchy/hierarchy.hpp"
#include "loopback/loopback.hpp"
#include "shm/shm.hpp"

namespace tutti {

namespace {

struct Entry {
    const char* name;
    std::unique_ptr<Backend> (*connect)(const std::shared_ptr<Store>&, int rank, int size,
                                        const Deadline&);
};

std::unique_ptr<Backend> connect_gloo(const std::shared_ptr<Store>& store, int rank, int size,
                                      const Deadline& deadline) {
    return std::make_unique<ChannelBackend>(gloo_channel::connect(store, rank, size, deadline));
}

std::unique_ptr<Backend> connect_loopback(const std::shared_ptr<Store>& store, int rank, int size,
                                          const Deadline& deadline) {
    return std::make_unique<ChannelBackend>(loopback::connect(*store, rank, size, deadline));
}

std::unique_ptr<Backend> connect_shm(const std::shared_ptr<Store>& store, int rank, int size,
                                     const Deadline& deadline) {
    return shm::connect(gloo_channel::connect(store, rank, size, deadline), deadline);
}

std::unique_ptr<Backend> connect_hierarchy(const std::shared_ptr<Store>& store, int rank, int size,
                                           const Deadline& deadline) {
    return hierarchy::connect(gloo_channel::connect(store, rank, size, deadline), deadline);
}

// The best one for where the ranks are: inside hosts through memory, if there is more than one rank
// on any.
std::unique_ptr<Backend> connect_any(const std::shared_ptr<Store>& store, int rank, int size,
                                     const Deadline& deadline) {
    auto channel = gloo_channel::connect(store, rank, size, deadline);
    shm::Meeting meeting = shm::meet(*channel, deadline);
    if (meeting.all_see_each_other()) {
        return shm::make(std::move(channel), std::move(meeting.here), "shm", deadline);
    }
    log(LogLevel::Info, "not all ranks share memory: ", meeting.why);
    const bool some_share = std::ranges::any_of(
        meeting.hosts, [](const std::vector<int>& ranks) { return ranks.size() > 1; });
    if (some_share) return hierarchy::make(std::move(channel), std::move(meeting), deadline);
    return std::make_unique<ChannelBackend>(std::move(channel));
}

constexpr std::array<Entry, 4> entries{{
    {"gloo", connect_gloo},
    {"hierarchy", connect_hierarchy},
    {"loopback", connect_loopback},
    {"shm", connect_shm},
}};
constexpr Entry chosen_together{"shm", connect_any};

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
    if (name.empty()) return name;
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
    const Entry& entry = name.empty() ? chosen_together : *find(name);
    if (size == 1) return std::make_unique<ChannelBackend>(loopback::alone(entry.name));
    return entry.connect(store, rank, size, deadline);
}

}  // namespace tutti
