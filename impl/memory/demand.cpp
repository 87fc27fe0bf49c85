#include "demand.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "base/control_group.hpp"
#include "base/error.hpp"
#include "segment.hpp"

namespace tutti::shm {

namespace {

using Where = std::pair<uint64_t, uint64_t>;  // host, and a control group of it or 0

// The demands of the ranks in one place.
struct Sum {
    uint64_t wanted = 0;
    uint64_t available = UINT64_MAX;
    int largest = -1;
};

std::map<Where, Sum> sums_of(const std::vector<Demand>& demands) {
    std::map<Where, Sum> sums;
    for (size_t rank = 0; rank < demands.size(); ++rank) {
        const Demand& one = demands[rank];
        const auto add = [&](uint64_t group, uint64_t available) {
            Sum& sum = sums[{one.host, group}];
            sum.wanted += std::min(one.bytes, UINT64_MAX - sum.wanted);
            sum.available = std::min(sum.available, available);
            if (sum.largest < 0 || one.bytes > demands[static_cast<size_t>(sum.largest)].bytes) {
                sum.largest = static_cast<int>(rank);
            }
        };
        if (one.host == 0) continue;
        add(0, one.available);
        if (one.group != 0) add(one.group, one.room);
    }
    return sums;
}

std::string name_of(const Where& place) {
    const auto [host, group] = place;
    if (group == 0) return "one host";
    const bool is_own = host == host_of_memory() && group == memory_room().group;
    const auto limit = is_own ? memory_limit() : std::nullopt;
    if (!limit) return "one control group";
    return cat("the control group ", limit->group, " (", limit->name, ")");
}

}  // namespace

Demand demand_of(size_t bytes) {
    const MemoryRoom room = memory_room();
    return {bytes, host_of_memory(), available_memory(), room.bytes, room.group};
}

std::optional<Excess> find_excess(const std::vector<Demand>& demands) {
    for (const auto& [place, sum] : sums_of(demands)) {
        if (sum.wanted <= sum.available) continue;
        return Excess{
            sum.largest,
            {TUTTI_ERR_OUT_OF_MEMORY, -1, ENOMEM,
             cat("the ranks of ", name_of(place), " want ", sum.wanted, " bytes, of them rank ",
                 sum.largest, " ", demands[static_cast<size_t>(sum.largest)].bytes, ", and ",
                 sum.available, " are available")}};
    }
    return std::nullopt;
}

}  // namespace tutti::shm
