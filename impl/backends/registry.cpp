#include "registry.hpp"

#include <algorithm>
#include <cctype>
#include <deque>
#include <utility>
#include <vector>

#include "backends/channel/channel_backend.hpp"
#include "backends/hierarchy/hierarchy.hpp"
#include "backends/module/module.hpp"
#include "backends/shm/shm.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/module.hpp"
#include "base/mutex.hpp"
#include "ext/tables.hpp"
#include "transport/gloo/gloo.hpp"
#include "transport/loopback/loopback.hpp"
#include "transport/tcp/tcp.hpp"

namespace tutti {

namespace {

struct Entry {
    std::string name;
    OpenBackend open;
    DescribeBackend can = nullptr;  // null: everything, and no settings
    bool opens_one = false;         // else loopback serves a group of one rank
    bool joins_threads = false;     // of one process; else processes
};

std::unique_ptr<Backend> open_gloo(const BackendPlace& at) {
    return std::make_unique<ChannelBackend>(gloo_channel::open(at.membership, at.deadline));
}

std::unique_ptr<Backend> open_tcp(const BackendPlace& at) {
    return std::make_unique<ChannelBackend>(tcp::open(at.membership, at.deadline));
}

std::unique_ptr<Backend> open_loopback(const BackendPlace& at) {
    return std::make_unique<ChannelBackend>(loopback::open(at.membership, at.deadline));
}

std::unique_ptr<Backend> open_shm(const BackendPlace& at) {
    shm::BootstrapResult bootstrap = shm::bootstrap(at.membership, at.deadline);
    if (bootstrap.all_see_each_other()) {
        return shm::make(at.membership, std::move(bootstrap.here), "shm");
    }
    if (bootstrap.exhausted_rank >= 0) {
        throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("backend shm has no room: ", bootstrap.why),
                    bootstrap.exhausted_rank);
    }
    throw Error(TUTTI_ERR_UNSUPPORTED, cat("backend shm joins ranks of one host: ", bootstrap.why));
}

std::unique_ptr<Backend> open_hierarchy(const BackendPlace& at) {
    return hierarchy::make(at.membership, shm::bootstrap(at.membership, at.deadline), at.deadline);
}

// The best one for where the ranks are: inside hosts through memory, if there is more than one rank
// on any.
std::unique_ptr<Backend> open_any(const BackendPlace& at) {
    shm::BootstrapResult bootstrap = shm::bootstrap(at.membership, at.deadline);
    if (bootstrap.all_see_each_other()) {
        return shm::make(at.membership, std::move(bootstrap.here), "shm");
    }
    log(LogLevel::Info, "not all ranks share memory: ", bootstrap.why);
    const bool some_share = std::ranges::any_of(
        bootstrap.hosts, [](const std::vector<int>& ranks) { return ranks.size() > 1; });
    if (some_share) return hierarchy::make(at.membership, std::move(bootstrap), at.deadline);
    return open_tcp(at);
}

const Entry& chosen_together() {
    static const Entry& entry = *new Entry{"shm", open_any};
    return entry;
}

// Entries are never removed, so names and references stay.
class Registry {
public:
    Registry() {
        entries_.push_back({"gloo", open_gloo});
        entries_.push_back({"hierarchy", open_hierarchy});
        entries_.push_back({.name = "loopback", .open = open_loopback, .joins_threads = true});
        entries_.push_back({"shm", open_shm});
        entries_.push_back({"tcp", open_tcp});
    }

    // Null: the name is taken.
    const Entry* add(Entry entry) {
        const Lock lock(mutex_);
        if (std::ranges::find(entries_, entry.name, &Entry::name) != entries_.end()) return nullptr;
        return &entries_.emplace_back(std::move(entry));
    }
    [[nodiscard]] const Entry* find(const std::string& name) const {
        const Lock lock(mutex_);
        const auto found = std::ranges::find(entries_, name, &Entry::name);
        return found == entries_.end() ? nullptr : &*found;
    }
    [[nodiscard]] std::string names() const {
        const Lock lock(mutex_);
        std::string all;
        for (const Entry& entry : entries_) all += cat(all.empty() ? "" : ", ", entry.name);
        return all;
    }

private:
    mutable Mutex mutex_;
    std::deque<Entry> entries_ TUTTI_GUARDED_BY(mutex_);
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

// "name?settings". The module of Gloo, which meets PyTorch's ranks, has a name of its own as long
// as the built-in backend has Gloo's.
struct Named {
    explicit Named(const std::string& text)
        : name(text.substr(0, text.find('?'))),
          settings(name.size() < text.size() ? text.substr(name.size() + 1) : "") {
        if (lower(name) == "gloo" && cat("&", settings).find("&peers=") != std::string::npos) {
            name = "gloo-pytorch";
        }
    }
    std::string name;
    std::string settings;
};

// For a backend without settings: "setting=value&setting=value".
void refuse_settings(const std::string& backend, const std::string& settings) {
    for (size_t begin = 0; begin < settings.size();) {
        const size_t end = std::min(settings.find('&', begin), settings.size());
        if (end > begin) {
            refuse(backend, " has no setting \"",
                   settings.substr(begin, std::min(settings.find('=', begin), end) - begin), "\"");
        }
        begin = end + 1;
    }
}

Capabilities describe(const Entry& entry, const std::string& settings) {
    if (entry.can != nullptr) return entry.can(settings);
    refuse_settings(entry.name, settings);
    return {};
}

// Null, with the reason, if there is none, and no library of that name has one.
const Entry* find_or_load(const std::string& name, std::string& why) {
    if (const Entry* const entry = registry().find(name)) return entry;
    if (!ext::is_name(name)) return nullptr;
    try {
        ext::LoadedBackend loaded = ext::load_backend(name);
        registry().add({name, std::move(loaded.open), std::move(loaded.can), true});
        return registry().find(name);  // another thread may have been first
    } catch (const NoModule& missing) {
        why = missing.what();
        return nullptr;
    }
}

const Entry& need(const std::string& name) {
    return *registry().find(Named(name).name);
}

}  // namespace

void register_backend(const std::string& name, OpenBackend open, DescribeBackend can) {
    if (registry().add({lower(name), std::move(open), std::move(can), true}) == nullptr) {
        refuse("there is a backend \"", lower(name), "\" already");
    }
}

Status why_not_available(const std::string& name) {
    try {
        if (name.empty()) refuse("name is empty");
        resolve_backend(name);
        return {};
    } catch (...) {
        return current_status();
    }
}

std::string resolve_backend(const std::string& name) {
    if (name.empty()) return name;
    Named named(name);
    named.name = lower(named.name);
    std::string why;
    const Entry* const entry = find_or_load(named.name, why);
    if (entry == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("backend is \"", name, "\"; this build knows: ", registry().names(),
                        why.empty() ? "" : cat("; and there is no library: ", why)));
    }
    try {
        describe(*entry, named.settings);
    } catch (const Error& error) {
        Status status = error.status();
        status.message = cat("backend is \"", name, "\"; ", status.message);
        throw Error(std::move(status));
    }
    return named.settings.empty() ? named.name : cat(named.name, "?", named.settings);
}

const char* static_backend_name(const std::string& name) {
    return need(name).name.c_str();
}

Capabilities capabilities_of(const std::string& name) {
    return name.empty() ? Capabilities{} : describe(need(name), Named(name).settings);
}

std::string settings_of(const std::string& name) {
    return Named(name).settings;
}

bool has_foreign_peers(const std::string& name) {
    return capabilities_of(name).foreign_peers;
}

bool joins_threads(const std::string& name) {
    return !name.empty() && need(name).joins_threads;
}

std::unique_ptr<Backend> make_backend(const std::string& name, BackendPlace place) {
    const Entry& entry = name.empty() ? chosen_together() : need(name);
    if (place.membership.size() == 1 && !entry.opens_one) {
        return std::make_unique<ChannelBackend>(
            loopback::open(place.membership, place.deadline, entry.name.c_str()));
    }
    place.name = entry.name.c_str();
    place.settings = settings_of(name);
    auto backend = entry.open(place);
    if (backend->capabilities() != describe(entry, place.settings)) {
        throw Error(TUTTI_ERR_BACKEND,
                    cat("backend \"", entry.name, "\" says now that it can do something else"));
    }
    return backend;
}

}  // namespace tutti
