#include "registry.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "backend/hierarchy/hierarchy.hpp"
#include "backend/shm/shm.hpp"
#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mutex.hpp"
#include "channel_backend.hpp"
#include "transport/gloo/gloo.hpp"
#include "transport/loopback/loopback.hpp"

namespace tutti {

namespace {

Capabilities everything() {
    return {};
}

struct Entry {
    const char* name;
    OpenBackend open;
    DescribeBackend can = everything;
    bool opens_one = false;      // else loopback serves a group of one rank
    bool joins_threads = false;  // of one process; else processes
};

std::unique_ptr<Backend> open_gloo(Membership& membership, const Deadline& deadline) {
    return std::make_unique<ChannelBackend>(gloo_channel::open(membership, deadline));
}

std::unique_ptr<Backend> open_loopback(Membership& membership, const Deadline& deadline) {
    return std::make_unique<ChannelBackend>(loopback::open(membership, deadline));
}

std::unique_ptr<Backend> open_shm(Membership& membership, const Deadline& deadline) {
    shm::BootstrapResult bootstrap = shm::bootstrap(membership, deadline);
    if (bootstrap.all_see_each_other()) {
        return shm::make(membership, std::move(bootstrap.here), "shm");
    }
    if (bootstrap.exhausted_rank >= 0) {
        throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("backend shm has no room: ", bootstrap.why),
                    bootstrap.exhausted_rank);
    }
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend shm joins ranks of one host: ", bootstrap.why));
}

std::unique_ptr<Backend> open_hierarchy(Membership& membership, const Deadline& deadline) {
    return hierarchy::make(membership, shm::bootstrap(membership, deadline), deadline);
}

// The best one for where the ranks are: inside hosts through memory, if there is more than one rank
// on any.
std::unique_ptr<Backend> open_any(Membership& membership, const Deadline& deadline) {
    shm::BootstrapResult bootstrap = shm::bootstrap(membership, deadline);
    if (bootstrap.all_see_each_other()) {
        return shm::make(membership, std::move(bootstrap.here), "shm");
    }
    log(LogLevel::Info, "not all ranks share memory: ", bootstrap.why);
    const bool some_share = std::ranges::any_of(
        bootstrap.hosts, [](const std::vector<int>& ranks) { return ranks.size() > 1; });
    if (some_share) return hierarchy::make(membership, std::move(bootstrap), deadline);
    return open_gloo(membership, deadline);
}

constexpr std::array<Entry, 4> built_in{{
    {"gloo", open_gloo},
    {"hierarchy", open_hierarchy},
    {.name = "loopback", .open = open_loopback, .joins_threads = true},
    {"shm", open_shm},
}};
constexpr Entry chosen_together{"shm", open_any};

class Registry {
public:
    Registry() : entries_(built_in.begin(), built_in.end()) {}

    void add(const Entry& entry) {
        const Lock lock(mutex_);
        entries_.push_back(entry);
    }
    [[nodiscard]] std::optional<Entry> find(const std::string& name) const {
        const Lock lock(mutex_);
        const auto found = std::ranges::find(entries_, name, &Entry::name);
        return found == entries_.end() ? std::nullopt : std::optional(*found);
    }
    [[nodiscard]] std::string names() const {
        const Lock lock(mutex_);
        std::string all;
        for (const Entry& entry : entries_) all += cat(all.empty() ? "" : ", ", entry.name);
        return all;
    }

private:
    mutable Mutex mutex_;
    std::vector<Entry> entries_ TUTTI_GUARDED_BY(mutex_);
};

// Never destroyed: a group may be made at the very end of the process.
Registry& registry() {
    static Registry& all = *new Registry;
    return all;
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

// "name?setting=value&setting=value": none of the backends that there are has a setting.
void refuse_settings(const std::string& name, size_t question, const std::string& backend) {
    for (size_t begin = question + 1; begin < name.size();) {
        const size_t end = std::min(name.find('&', begin), name.size());
        const std::string setting =
            name.substr(begin, std::min(name.find('=', begin), end) - begin);
        if (end > begin) {
            throw Error(TUTTI_ERR_INVALID_ARGUMENT, cat("backend is \"", name, "\"; ", backend,
                                                        " has no setting \"", setting, "\""));
        }
        begin = end + 1;
    }
}

}  // namespace

void register_backend(const char* name, OpenBackend open, DescribeBackend can) {
    TUTTI_ASSERT(!registry().find(name));
    registry().add({.name = name, .open = open, .can = can, .opens_one = true});
}

bool is_backend_available(const std::string& name) {
    return registry().find(lower(name.substr(0, name.find('?')))).has_value();
}

std::string resolve_backend(const std::string& name) {
    if (name.empty()) return name;
    const size_t question = std::min(name.find('?'), name.size());
    std::string resolved = lower(name.substr(0, question));
    if (!registry().find(resolved)) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("backend is \"", name, "\"; this build knows: ", registry().names()));
    }
    refuse_settings(name, question, resolved);
    return resolved;
}

const char* static_backend_name(const std::string& name) {
    return registry().find(name)->name;
}

Capabilities capabilities_of(const std::string& name) {
    return (name.empty() ? chosen_together : *registry().find(name)).can();
}

bool joins_threads(const std::string& name) {
    return !name.empty() && registry().find(name)->joins_threads;
}

std::unique_ptr<Backend> make_backend(const std::string& name, Membership& membership,
                                      const Deadline& deadline) {
    const Entry entry = name.empty() ? chosen_together : *registry().find(name);
    if (membership.size() == 1 && !entry.opens_one) {
        return std::make_unique<ChannelBackend>(loopback::open(membership, deadline, entry.name));
    }
    auto backend = entry.open(membership, deadline);
    TUTTI_ASSERT(backend->capabilities() == entry.can());  // or ranks have compared the wrong ones
    return backend;
}

}  // namespace tutti
