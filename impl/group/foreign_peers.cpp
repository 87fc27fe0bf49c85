#include "foreign_peers.hpp"

#include <algorithm>
#include <utility>

#include "backends/backend_map.hpp"
#include "base/debug_level.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "context.hpp"
#include "making.hpp"
#include "membership/threads.hpp"
#include "ranks.hpp"
#include "splitting.hpp"

namespace tutti {

// PyTorch's names of groups end with a slash, and its prefix store adds another one.
std::shared_ptr<Store> store_of_pytorch(uint64_t number, std::shared_ptr<Store> parent) {
    return make_prefix_store(cat(number, "/"), std::move(parent));
}

void check_has_membership(const GroupIdentity& identity, const std::string& what) {
    if (!identity.has_foreign_peers) return;
    throw Error(TUTTI_ERR_UNSUPPORTED, cat(what, " on ", identity.label(),
                                           ": ranks of this group may be of another library, with "
                                           "which there are no shared steps"));
}

void check_foreign_peers(const GroupOptions& options, const GroupIdentity& identity,
                         const BackendMap& map) {
    const std::string& name = map.entries.front().name;
    if (options.reproducible) {
        refuse("options.reproducible is 1, and backend \"", name,
               "\" is for groups with ranks of another library, which has no reproducible sums");
    }
    for (const BackendMap::Entry& entry : map.entries) {
        if (entry.name == name) continue;
        refuse("backend is \"", options.backend, "\": \"", name,
               "\" is for groups with ranks of another library, and serves such a group alone");
    }
    if (debug_level() == DebugLevel::Detail) {
        log(LogLevel::Warning, "TORCH_DISTRIBUTED_DEBUG=DETAIL has no effect on ", identity.label(),
            ": its ranks may be of another library, and do not compare their calls");
    }
}

// As PyTorch's new_group: all ranks of the first group call it in one order, and only those of the
// new one meet, at a place that is numbered by the calls.
std::optional<GroupParts> Splitting::split_among_foreign_peers(const SplitOptions& options) {
    const GroupIdentity& identity = parent_.identity;
    const auto refuse_as = [&](const char* why) {
        throw Error(TUTTI_ERR_UNSUPPORTED,
                    cat(options.function, " on ", identity.label(), ": ", why,
                        ", and ranks of the group may be of PyTorch's"));
    };
    if (identity.as.own != identity.as.root)
        refuse_as("groups are made from the first group alone");
    if (options.callers) refuse_as("all ranks call it");
    if (options.parts.size() != 1) refuse_as("it makes one group at a time");
    if (options.reproducible.value_or(false)) refuse_as("there are no reproducible sums");
    const BackendMap& map = parent_.backend_map;
    const bool is_same =
        options.backend.empty() || resolve_backends(options.backend).name() == map.name();
    if (!is_same) refuse_as("the new group has the backend of the first one");
    const std::vector<int>& ranks = options.parts.front();
    if (!std::ranges::is_sorted(ranks)) refuse_as("ranks are given in ascending order");
    const InFlight entry(parent_.life, options.function.c_str());
    const std::string step = next_step(options);
    if (std::ranges::find(ranks, identity.rank) == ranks.end()) return std::nullopt;
    GroupParts parts;
    parts.identity = identity.of_members(ranks);
    parts.identity.name =
        options.description.empty() ? cat(identity.name, "/", step) : options.description;
    parts.identity.bound = identity.bound_device_for(options.bound);
    parts.timeout_ms = parent_.effective_timeout(options.timeout_ms);
    parts.backend_map = map;
    parts.store = store_of_pytorch(std::stoull(step), parent_.store);
    const int size = parts.identity.size;
    parts.membership = std::make_unique<Membership>(
        size == 1 ? world_of_one() : unwatched_world(parts.identity.rank, size), 0,
        all_ranks(size));
    with_context(options.function, parent_, [&] {
        parts.open_backends({*parts.membership, parent_.deadline(options.timeout_ms), parts.store,
                             parts.identity.bound, false, parts.identity.name});
    });
    return parts;
}

}  // namespace tutti
