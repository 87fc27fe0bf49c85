// How every collective and message starts: here and now, or as a work. Any thread.
#pragma once

#include "group.hpp"
#include "handle.hpp"
#include "tutti/work.h"

namespace tutti::capi {

// The handle's slot is taken first: an operation that has started always gets its work.
template <typename Call>
void issue(Group& group, const Call& call, int64_t timeout_ms, tutti_work** work) {
    if (work == nullptr) {
        group.run(call, timeout_ms);
        return;
    }
    Reserved<tutti_work> slot;
    *work = slot.publish(group.start(call, timeout_ms));
}

}  // namespace tutti::capi
