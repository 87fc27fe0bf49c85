#include "alloc_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "group.hpp"
#include "memory/held_memory.hpp"

namespace tutti {

namespace {

// Some rank has none: `why_not`, if it is this one.
[[noreturn]] void refuse_all(const Group& group, int without, const Status& why_not) {
    const std::string reason =
        why_not.ok() ? cat("rank ", without, " can have no memory") : why_not.message;
    throw Error(TUTTI_ERR_OUT_OF_MEMORY, cat("memory_alloc on ", group.label(), ": ", reason),
                without, why_not.system_errno);
}

}  // namespace

Alloc::Outcome run_alloc(Group& group, const Alloc& call, int64_t timeout_ms) {
    group.run(call, timeout_ms);
    const auto& made = *call.outcome;
    if (made.without >= 0) refuse_all(group, made.without, made.why_not);
    return made;
}

std::shared_ptr<shm::Segment> alloc_memory(Group& group, size_t bytes, int64_t timeout_ms) {
    auto made = run_alloc(group, Alloc{bytes}, timeout_ms);
    made.memory->close();  // who sees it has mapped it
    HeldMemory::of_process().add(made.memory);
    return std::move(made.memory);
}

void share_memory(GroupCore& group, const Alloc& call, uint64_t sequence, const Deadline& until) {
    if (call.outcome->without >= 0 || !group.backends.have_memory()) return;
    SplitSteps steps(*group.membership, cat("memory/", sequence), until);
    try {
        const auto& mine = call.on_device;
        const auto all =
            steps.all_gather(mine ? cat(mine->device.type, "/", mine->bytes) : std::string("-"));
        const bool are_alike = std::ranges::count(all, all.front()) == group.identity.size;
        if (mine && are_alike) group.backends.share_memory(mine->device, mine->memory, steps);
    } catch (...) {
        steps.refuse(current_status());
        throw;
    }
}

}  // namespace tutti
