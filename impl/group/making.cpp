#include "making.hpp"

#include <utility>

#include "backends/registry.hpp"
#include "base/debug_level.hpp"
#include "base/error.hpp"
#include "base/resource_limits.hpp"
#include "foreign_peers.hpp"
#include "membership/bootstrap.hpp"
#include "membership/processes.hpp"
#include "membership/threads.hpp"
#include "ranks.hpp"

namespace tutti {

namespace {

// The facts that must be the same on all ranks.
std::string same_on_all(const GroupOptions& options, const BackendMap& map) {
    return cat("options.reproducible is ", options.reproducible ? 1 : 0, "\nbackend is ",
               map.text(), map.lacks());
}

// A rank that lacks what its backends' libraries need meets none of the others, and tells them so.
BackendMap map_of(const GroupOptions& options) {
    if (options.map) return *options.map;
    try {
        // NCCL has no sums that can be reproduced.
        return resolve_backends(options.backend,
                                options.reproducible ? TUTTI_CPU : options.bound.type);
    } catch (const Error& error) {
        if (error.status().code != TUTTI_ERR_OUT_OF_MEMORY) throw;
        Status status = error.status();
        blame_own_exhaustion(status, options.rank);
        membership::tell_failure(*options.store, options.rank, status);
        membership::stay_to_tell(*options.store, options.rank, options.size);
        throw Error(std::move(status));
    }
}

GroupIdentity identity_of(const GroupOptions& options, const BackendMap& map) {
    GroupIdentity identity;
    identity.rank = options.rank;
    identity.size = options.size;
    identity.name = options.name;
    identity.reproducible = options.reproducible;
    identity.bound = options.bound;
    identity.has_foreign_peers = has_foreign_peers(map.entries.front().name);
    identity.compares_first = debug_level() == DebugLevel::Detail && !identity.has_foreign_peers;
    identity.global_ranks = all_ranks(options.size);
    return identity;
}

// All ranks: processes, or threads of one process if the backend joins those.
std::shared_ptr<World> bootstrap(const GroupOptions& options, const BackendMap& map,
                                 bool has_foreign_peers, const Deadline& deadline) {
    if (options.size == 1) return world_of_one();
    if (has_foreign_peers) return unwatched_world(options.rank, options.size);
    const std::string same = same_on_all(options, map);
    const bool has_threads = joins_threads(map.entries.front().name);
    auto* const how = has_threads ? bootstrap_threads : bootstrap_processes;
    return how(options.store, options.rank, options.size, same, deadline);
}

void meet_and_open(GroupParts& parts, const GroupOptions& options) {
    const GroupIdentity& identity = parts.identity;
    const Deadline deadline = Deadline::after_ms(options.timeout_ms);
    parts.membership = std::make_unique<Membership>(
        bootstrap(options, parts.backend_map, identity.has_foreign_peers, deadline), 0,
        identity.global_ranks);
    parts.store = identity.has_foreign_peers ? store_of_pytorch(0, options.store) : options.store;
    parts.open_backends(
        {*parts.membership, deadline, parts.store, identity.bound, false, identity.name});
}

// This rank's part in the making has failed: the others shall not wait for it.
void give_up(const GroupParts& parts, Store& store, const Status& status) noexcept {
    const int rank = parts.identity.rank;
    if (parts.membership) return parts.membership->report(gave_up(rank, status));
    if (status.code != TUTTI_ERR_OUT_OF_MEMORY) return;
    if (status.rank != rank) return membership::have_heard(store, rank);
    // It may have met none of them.
    membership::tell_failure(store, rank, status);
    membership::stay_to_tell(store, rank, parts.identity.size);
}

}  // namespace

GroupParts make_first_group(const GroupOptions& options) {
    GroupParts parts;
    parts.timeout_ms = options.timeout_ms;
    parts.backend_map = map_of(options);
    parts.identity = identity_of(options, parts.backend_map);
    if (parts.identity.has_foreign_peers) {
        check_foreign_peers(options, parts.identity, parts.backend_map);
    }
    try {
        meet_and_open(parts, options);
    } catch (...) {
        Status status = current_status();
        blame_own_exhaustion(status, options.rank);
        give_up(parts, *options.store, status);
        status.message = cat("making ", parts.identity.label(), ": ", status.message);
        throw Error(std::move(status));
    }
    return parts;
}

}  // namespace tutti
