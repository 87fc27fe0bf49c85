// tutti/memory.h. Any thread.
#include "tutti/memory.h"

#include <memory>
#include <utility>

#include "arguments.hpp"
#include "base/error.hpp"
#include "buffers.hpp"
#include "device/driver.hpp"
#include "group.hpp"
#include "group/alloc_memory.hpp"
#include "guard.hpp"
#include "memory/held_memory.hpp"
#include "options.hpp"

namespace capi = tutti::capi;

namespace {

// Zeroed: of the group's backend for the device, if that has some, and then the call says so.
std::shared_ptr<void> alloc_here(tutti::Group& group, const tutti::Device& device, size_t bytes,
                                 tutti::Alloc& call) {
    tutti::device::Driver& driver = tutti::device::Driver::of(device.type);
    auto memory = bytes > 0 ? group.alloc_of_backend(device, bytes) : nullptr;
    if (memory == nullptr) return driver.alloc(device.index, bytes);
    call.on_device = {device, memory.get(), bytes};
    return driver.zeroed(device.index, std::move(memory), bytes);
}

// Also of a device that is not here, which the others hear of.
void* alloc_on_device(tutti::Group& group, size_t bytes, const tutti_memory_options& options) {
    tutti::Alloc call{0};
    std::shared_ptr<void> memory;
    tutti::Status why_not;
    try {
        capi::check_device(options.device_type, options.device_index, {"options"});
        group.identity().check_bound({options.device_type, options.device_index},
                                     "options.device_type and device_index name");
        memory = alloc_here(group, {options.device_type, options.device_index}, bytes, call);
    } catch (...) {
        why_not = tutti::current_status();
        call.refuse(why_not);
    }
    try {
        tutti::run_alloc(group, call, options.timeout_ms);
    } catch (const tutti::Error&) {
        const bool is_memory = why_not.ok() || why_not.code == TUTTI_ERR_OUT_OF_MEMORY;
        if (is_memory) throw;
        // The others hear that this rank has none.
        if (why_not.code != TUTTI_ERR_BACKEND) throw capi::Refusal(why_not);
        why_not.message = tutti::cat("memory_alloc on ", group.label(), ": ", why_not.message);
        throw tutti::Error(why_not);
    }
    tutti::HeldMemory::of_process().add(memory, bytes);
    return memory.get();
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
        capi::need_output(out_memory, "out_memory");
        const bool is_here = given.device_type == TUTTI_CPU && given.device_index == 0;
        *out_memory = is_here ? tutti::alloc_memory(*pin, size, given.timeout_ms)->data()
                              : alloc_on_device(*pin, size, given);
    });
}

void tutti_memory_release(void* memory) {
    if (!capi::forked()) tutti::HeldMemory::of_process().release(memory);
}

}  // extern "C"
