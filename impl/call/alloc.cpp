#include "alloc.hpp"

#include "base/error.hpp"
#include "memory/demand.hpp"
#include "memory/segment.hpp"

namespace tutti {

void Alloc::make() const {
    if (outcome->memory || !outcome->why_not.ok()) return;
    try {
        outcome->memory = std::make_shared<shm::Segment>(shm::Segment::make_now(bytes));
    } catch (...) {
        refuse(current_status());
    }
}

bool Alloc::refuse_excess(const std::vector<shm::Demand>& demands) const {
    const auto excess = shm::find_excess(demands);
    if (!excess) return false;
    outcome->without = excess->rank;
    refuse(excess->why);
    return true;
}

}  // namespace tutti
