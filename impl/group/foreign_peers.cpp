#include "foreign_peers.hpp"

#include <algorithm>
#include <utility>

#include "base/debug_level.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "group.hpp"
#include "in_flight.hpp"
#include "membership/threads.hpp"
#include "ranks.hpp"

namespace tutti {

// PyTorch's names of groups end with a slash, and its prefix store adds another one.
std::shared_ptr<Store> store_of_pytorch(uint64_t number, std::shared_ptr<Store> parent) {
    return make_prefix_store(cat(number, "/"), std::move(parent));
}

void refuse_with_foreign_peers(const std::string& what, const std::string& group) {
    throw Error(TUTTI_ERR_UNSUPPORTED, cat(what, " on ", group,
                                           ": ranks of this group may be of another library, with "
                                           "which there are no shared steps"));
}

void Group::check_foreign_peers(const GroupOptions& options) const {
    const std::string& name = backend_map_.entries.front().name;
    if (options.reproducible) {
        refuse("options.reproducible is 1, and backend \"", name,
               "\" is for groups with ranks of another library, which has no reproducible sums");
    }
    for (const BackendMap::Entry& entry : backend_map_.entries) {
        if (entry.name == name) continue;
        refuse("backend is \"", options.backend, "\": \"", name,
               "\" is for groups with ranks of another library, and serves such a group alone");
    }
    if (debug_level() == DebugLevel::Detail) {
        log(LogLevel::Warning, "TORCH_DISTRIBUTED_DEBUG=DETAIL has no effect on ", label(),
            ": its ranks may be of another library, and do not compare their calls");
    }
}

// As PyTorch's new_group: all ranks of the first group call it in one order, and only those of the
// new one meet, at a place that is numbered by the calls.
std::shared_ptr<Group> Group::split_among_foreign_peers(const SplitOptions& options) {
    const auto refuse_as = [&](const char* why) {
        throw Error(TUTTI_ERR_UNSUPPORTED, cat(options.function, " on ", label(), ": ", why,
                                               ", and ranks of the group may be of PyTorch's"));
    };
    if (first_) refuse_as("groups are made from the first group alone");
    if (options.callers) refuse_as("all ranks call it");
    if (options.parts.size() != 1) refuse_as("it makes one group at a time");
    if (options.reproducible.value_or(false)) refuse_as("there are no reproducible sums");
    const bool is_same =
        options.backend.empty() || resolve_backends(options.backend).name() == backend_map_.name();
    if (!is_same) refuse_as("the new group has the backend of the first one");
    const std::vector<int>& ranks = options.parts.front();
    if (!std::ranges::is_sorted(ranks)) refuse_as("ranks are given in ascending order");
    const InFlight entry(*this, options.function.c_str());
    const std::string step = next_step(options);
    const auto own = std::ranges::find(ranks, rank_);
    if (own == ranks.end()) return nullptr;
    const auto size = static_cast<int>(ranks.size());
    const auto rank = static_cast<int>(own - ranks.begin());
    SplitResult result;
    result.name = options.description.empty() ? cat(name_, "/", step) : options.description;
    result.timeout_ms = effective_timeout(options.timeout_ms);
    result.bound = bound_device_for(options.bound);
    result.global_ranks = ranks;
    result.store = store_of_pytorch(std::stoull(step), store_);
    result.membership = std::make_unique<Membership>(
        size == 1 ? world_of_one() : unwatched_world(rank, size), 0, all_ranks(size));
    result.backend_map = backend_map_;
    const BackendPlace place{
        *result.membership, deadline(options.timeout_ms), result.store, result.bound, false,
        result.name};
    try {
        result.backends.open(result.backend_map, place);
    } catch (const Error& error) {
        Status status = error.status();
        status.message = cat(options.function, " on ", label(), ": ", status.message);
        throw Error(status);
    }
    std::shared_ptr<Group> group(new Group(std::move(result), *this));
    if (tree_->add(group)) return group;
    throw Error(TUTTI_ERR_ABORTED,
                cat(options.function, " on ", label(), ": the group was destroyed meanwhile"));
}

}  // namespace tutti
