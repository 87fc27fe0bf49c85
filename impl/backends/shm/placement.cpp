#include "placement.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/environment.hpp"

namespace tutti::shm {

namespace {

// The system may keep the ranks away from another process: a rank that is moved back again and
// again tries more and more rarely.
constexpr std::chrono::milliseconds min_stay{1};
constexpr std::chrono::milliseconds max_stay{128};

// The processors of the first thread, before anything else can change them. Empty if they are not
// known: then every thread counts as not bound.
const cpu_set_t mask_at_start = [] {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    (void)::sched_getaffinity(::getpid(), sizeof processors, &processors);
    return processors;
}();

}  // namespace

std::optional<int> better_processor(int rank, std::span<const int> of_ranks,
                                    const cpu_set_t& allowed) {
    std::array<int, CPU_SETSIZE> ranks_on{};
    const auto is_one = [](int processor) { return processor >= 0 && processor < CPU_SETSIZE; };
    for (const int processor : of_ranks) {
        if (is_one(processor)) ++ranks_on[static_cast<size_t>(processor)];
    }
    const int here = of_ranks[static_cast<size_t>(rank)];
    const auto higher = of_ranks.subspan(static_cast<size_t>(rank) + 1);
    if (!is_one(here) || std::ranges::find(higher, here) != higher.end()) return std::nullopt;
    int best = here;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
        if (!CPU_ISSET(processor, &allowed)) continue;
        if (ranks_on[static_cast<size_t>(processor)] < ranks_on[static_cast<size_t>(best)]) {
            best = processor;
        }
    }
    if (ranks_on[static_cast<size_t>(here)] - ranks_on[static_cast<size_t>(best)] < 2) {
        return std::nullopt;
    }
    return best;
}

bool move_to(int processor) {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    if (!CPU_ISSET(processor, &allowed)) return false;
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    if (::sched_setaffinity(0, sizeof there, &there) != 0) return false;
    return ::sched_setaffinity(0, sizeof allowed, &allowed) == 0;
}

const cpu_set_t& processors_at_start() {
    return mask_at_start;
}

bool is_bound(const cpu_set_t& allowed, const cpu_set_t& at_start) {
    cpu_set_t both;
    CPU_AND(&both, &allowed, &at_start);
    return !CPU_EQUAL(&both, &at_start);
}

bool may_move_by_environment() {
    return environment_number("TUTTI_PLACEMENT", 0, 1).value_or(1) != 0;
}

bool Placement::look(int rank, std::span<const int> of_ranks, Clock::time_point now) {
    cpu_set_t allowed;
    if (now - moved_ < stay_) return false;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    if (!may_move_ || is_bound(allowed, at_start_)) return false;
    const auto better = better_processor(rank, of_ranks, allowed);
    if (!better || !move_to(*better)) return false;
    const bool soon = now - moved_ < 2 * max_stay;
    stay_ = soon ? std::min(2 * stay_, max_stay) : min_stay;
    moved_ = now;
    return true;
}

}  // namespace tutti::shm
