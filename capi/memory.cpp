// tutti/memory.h. Any thread. What programs hold is found by its address.
#include "tutti/memory.h"

#include "memory.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "group.hpp"
#include "guard.hpp"
#include "memory/segment.hpp"

namespace capi = tutti::capi;

namespace {

using tutti::shm::Segment;

class HeldMemory {
public:
    void add(std::shared_ptr<Segment> segment) {
        const tutti::Lock lock(mutex_);
        void* const data = segment->data();
        segments_.emplace(data, std::move(segment));
    }
    // Nothing, if that is none.
    std::shared_ptr<Segment> take(void* memory) {
        const tutti::Lock lock(mutex_);
        auto found = segments_.extract(memory);
        return found.empty() ? nullptr : std::move(found.mapped());
    }

    size_t count() {
        const tutti::Lock lock(mutex_);
        return segments_.size();
    }

private:
    tutti::Mutex mutex_;
    std::map<void*, std::shared_ptr<Segment>> segments_ TUTTI_GUARDED_BY(mutex_);
};

// Never destroyed: programs may give memory back when they end.
HeldMemory& held_memory() {
    static auto* const all = new HeldMemory;
    return *all;
}

// Some rank has none: `why_not`, if it is this one.
[[noreturn]] void refuse_all(const tutti::Group& group, int without, const tutti::Status& why_not) {
    const std::string reason =
        why_not.ok() ? tutti::cat("rank ", without, " can have no memory") : why_not.message;
    throw tutti::Error(TUTTI_ERR_OUT_OF_MEMORY,
                       tutti::cat("alloc on ", group.label(), ": ", reason), without,
                       why_not.system_errno);
}

}  // namespace

size_t capi::count_memory() {
    return held_memory().count();
}

extern "C" {

tutti_status tutti_alloc(tutti_group* group, size_t bytes, void** memory, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        capi::need_output(memory, "memory");
        const tutti::Alloc call{bytes};
        pin->run(call, 0);
        const auto& made = *call.outcome;
        if (made.without >= 0) refuse_all(*pin, made.without, made.why_not);
        made.memory->close();  // who sees it has mapped it
        held_memory().add(made.memory);
        *memory = made.memory->data();
    });
}

tutti_status tutti_free(void* memory, tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        if (memory == nullptr) return;
        const std::shared_ptr<Segment> segment = held_memory().take(memory);
        if (!segment) {
            capi::refuse("memory is not from tutti_alloc, or was given back already");
        }
        segment->give_up();
    });
}

}  // extern "C"
