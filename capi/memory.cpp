// tutti/memory.h. Any thread.
#include "tutti/memory.h"

#include "arguments.hpp"
#include "buffers.hpp"
#include "group.hpp"
#include "guard.hpp"
#include "memory/held_memory.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

// Some rank has none: `why_not`, if it is this one.
[[noreturn]] void refuse_all(const tutti::Group& group, int without, const tutti::Status& why_not) {
    const std::string reason =
        why_not.ok() ? tutti::cat("rank ", without, " can have no memory") : why_not.message;
    throw tutti::Error(TUTTI_ERR_OUT_OF_MEMORY,
                       tutti::cat("memory_alloc on ", group.label(), ": ", reason), without,
                       why_not.system_errno);
}

}  // namespace

extern "C" {

void tutti_memory_options_init(tutti_memory_options* options, size_t size) {
    capi::write_default_options(options, size);
}

tutti_status tutti_memory_alloc(tutti_group* group, int64_t bytes,
                                const tutti_memory_options* options, void** out_memory,
                                tutti_error* error) {
    return capi::guard(__func__, error, [&] {
        const capi::GroupPin pin = capi::need_group(group);
        const size_t size = capi::read_count(bytes, "bytes");
        const tutti_memory_options given = capi::read_options(options);
        capi::check_device(given.device_type, given.device_index, "options");
        capi::need_output(out_memory, "out_memory");
        const tutti::Alloc call{size};
        pin->run(call, given.timeout_ms);
        const auto& made = *call.outcome;
        if (made.without >= 0) refuse_all(*pin, made.without, made.why_not);
        made.memory->close();  // who sees it has mapped it
        tutti::HeldMemory::of_process().add(made.memory);
        *out_memory = made.memory->data();
    });
}

void tutti_memory_release(void* memory) {
    if (!capi::forked()) tutti::HeldMemory::of_process().release(memory);
}

}  // extern "C"
