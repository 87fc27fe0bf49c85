#include "schemes.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.hpp"
#include "base/module.hpp"
#include "base/mutex.hpp"
#include "ext/tables.hpp"
#include "store/user_store.hpp"

namespace tutti {

namespace {

constexpr std::array ours{"env", "tcp", "file"};

// Entries are never removed.
class Schemes {
public:
    // False: the name is taken.
    bool add(const tutti_rendezvous_table& table) {
        const Lock lock(mutex_);
        return tables_.emplace(table.name, table).second;
    }
    [[nodiscard]] std::optional<tutti_rendezvous_table> find(const std::string& name) const {
        const Lock lock(mutex_);
        const auto found = tables_.find(name);
        if (found == tables_.end()) return std::nullopt;
        return found->second;
    }
    [[nodiscard]] std::string names() const {
        const Lock lock(mutex_);
        std::string all;
        for (const auto& [name, table] : tables_) all += cat(all.empty() ? "" : ", ", name);
        return all.empty() ? all : cat("; registered: ", all);
    }

private:
    mutable Mutex mutex_;
    std::map<std::string, tutti_rendezvous_table> tables_ TUTTI_GUARDED_BY(mutex_);
};

Schemes& schemes() {
    static Schemes& all = *new Schemes;
    return all;
}

[[noreturn]] void refuse_scheme(const InitUrl& url, const std::string& why) {
    refuse("init method \"", url.text,
           "\" is not known; there are env://, tcp://host:port and file:///path", schemes().names(),
           why.empty() ? "" : "; and there is no library: ", why);
}

tutti_rendezvous_table load_scheme(const InitUrl& url) {
    if (!ext::is_name(url.scheme)) refuse_scheme(url, "");
    ext::Library library;
    try {
        library = ext::find_library(url.scheme);
    } catch (const NoModule& missing) {
        refuse_scheme(url, missing.what());
    }
    const std::string owner = cat(library.place, ": ");
    if (library.module.rendezvous == nullptr) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat("init method \"", url.text, "\": ", owner, "there is no rendezvous in it"));
    }
    const tutti_rendezvous_table table = ext::read_table(library.module.rendezvous, owner);
    schemes().add(table);
    return table;
}

// Takes the store that the function gave, which is the host's from here on.
std::shared_ptr<Store> take_store(const tutti_rendezvous& met, const std::string& prefix,
                                  const AdoptStore& adopt) {
    if (met.store != nullptr) return adopt(met.store);
    if (met.store_table != nullptr) {
        return make_user_store(ext::read_table(met.store_table, prefix), met.opened);
    }
    throw Error(TUTTI_ERR_STORE, cat(prefix, "it gave no store"));
}

}  // namespace

bool is_scheme_of_ours(const std::string& scheme) {
    return std::ranges::find(ours, scheme) != ours.end();
}

void register_scheme(const tutti_rendezvous_table& table) {
    if (is_scheme_of_ours(table.name) || !schemes().add(table)) {
        refuse("there is a scheme \"", table.name, "\" already");
    }
}

MetOutside meet_outside(const InitUrl& url, int rank, int world_size, int64_t timeout_ms,
                        const AdoptStore& adopt) {
    const auto known = schemes().find(url.scheme);
    const tutti_rendezvous_table table = known ? *known : load_scheme(url);
    const std::string prefix = cat("init method \"", url.text, "\": ");
    tutti_rendezvous met{};
    met.struct_size = sizeof met;
    met.rank = rank;
    met.world_size = world_size;
    met.url = url.text.c_str();
    met.address = url.place.c_str();
    met.parameters = url.others.c_str();
    met.timeout_ms = timeout_ms;
    ext::call(prefix, table.meet, table.user, &met);
    return {take_store(met, prefix, adopt), met.rank, met.world_size};
}

}  // namespace tutti
