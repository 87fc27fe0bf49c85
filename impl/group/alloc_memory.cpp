#include "alloc_memory.hpp"

#include "base/error.hpp"
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

void* alloc_memory(Group& group, size_t bytes, int64_t timeout_ms) {
    const auto made = run_alloc(group, Alloc{bytes}, timeout_ms);
    made.memory->close();  // who sees it has mapped it
    HeldMemory::of_process().add(made.memory);
    return made.memory->data();
}

}  // namespace tutti
