#include "identity.hpp"

#include <algorithm>

#include "base/debug_level.hpp"
#include "base/error.hpp"

namespace tutti {

std::string GroupIdentity::label() const {
    return cat("group \"", name, "\" (rank ", rank, " of ", size, ")");
}

GroupIdentity GroupIdentity::of_members(const std::vector<int>& ranks) const {
    GroupIdentity members = *this;
    members.rank = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
    members.size = static_cast<int>(ranks.size());
    members.compares_first = debug_level() == DebugLevel::Detail && !has_foreign_peers;
    members.global_ranks.clear();
    for (const int one : ranks)
        members.global_ranks.push_back(global_ranks[static_cast<size_t>(one)]);
    return members;
}

int GroupIdentity::rank_of_global(int global) const {
    return static_cast<int>(std::ranges::find(global_ranks, global) - global_ranks.begin());
}

Device GroupIdentity::bound_device_for(const Device& wanted) const {
    if (wanted.type == TUTTI_CPU) return bound;
    check_bound(wanted, "options.device_type and device_index name");
    return wanted;
}

void GroupIdentity::check_bound_to_one(const Device& device, const char* what) const {
    if (device.type == TUTTI_CPU || bound.type == TUTTI_CPU) return;
    refuse(what, " ", describe(device), ", and ", label(), " is bound to ", describe(bound));
}

void GroupIdentity::refuse_wait(const char* operation, const char* function) const {
    refuse(operation, " on ", label(), " is called in the ", function,
           " of a call of this group, and each would wait for the other");
}

}  // namespace tutti
