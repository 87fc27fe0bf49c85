#include "alloc.hpp"

#include "base/error.hpp"
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

}  // namespace tutti
