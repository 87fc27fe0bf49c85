// Which accesses nothing orders: the race detector.
#include "clocks.hpp"

#include "memory.hpp"
#include "report.hpp"

#include <algorithm>

namespace tutti::cuda {

bool conflict(const Extent& one, const Extent& other) {
    return one.begin < other.end && other.begin < one.end && (one.writes || other.writes) &&
           !(one.gate && other.gate);
}

// An operation that has no order with the older one, and conflicts with it, has none with the newer
// one, or was there before that and has been compared with the older one.
static bool replaces(const Access& newer, const Clock& clock, const Access& older) {
    return newer.extent.begin <= older.extent.begin && older.extent.end <= newer.extent.end &&
           newer.extent.gate == older.extent.gate &&
           (newer.extent.writes || !older.extent.writes) && older.step <= clock.of(older.stream);
}

void History::add(const Allocation& allocation, const Access& access, const Clock& clock) {
    for (const Access& earlier : accesses_)
        if (earlier.step > clock.of(earlier.stream) && conflict(earlier.extent, access.extent))
            report("RACE", access.text + " of " + describe(allocation) + " and " + earlier.text +
                               " of it: nothing orders them");
    std::erase_if(accesses_, [&](const Access& old) { return replaces(access, clock, old); });
    accesses_.push_back(access);
}

const Access* History::unknown_to(const Clock& clock) const {
    const auto found = std::find_if(accesses_.begin(), accesses_.end(), [&](const Access& access) {
        return access.step > clock.of(access.stream);
    });
    return found == accesses_.end() ? nullptr : &*found;
}

void History::forget(const Clock& floor) {
    std::erase_if(accesses_,
                  [&](const Access& access) { return access.step <= floor.of(access.stream); });
}

}  // namespace tutti::cuda
