// The functions of memory: allocate, free, and what a pointer is.
#include "capture.hpp"
#include "engine.hpp"
#include "exports.hpp"
#include "places.hpp"
#include "report.hpp"

#include <cstring>

namespace tutti::cuda {

Result find(DevicePointer address, size_t bytes, Place* place) {
    *place = {allocation_at(address), 0, reinterpret_cast<char*>(address)};
    if (place->allocation == nullptr) return Result::Success;
    const Allocation& allocation = *place->allocation;
    place->offset = address - reinterpret_cast<DevicePointer>(allocation.program);
    place->real = allocation.real + place->offset;
    const std::string call = std::string(this_thread().call) + ": ";
    if (!allocation.alive) {
        report("DEAD", call + describe(allocation) + " was freed");
        return Result::InvalidValue;
    }
    if (place->offset > allocation.bytes || bytes > allocation.bytes - place->offset) {
        report("BOUNDS", call + "bytes [" + std::to_string(place->offset) + ", " +
                             std::to_string(place->offset + bytes) + ") of " +
                             describe(allocation));
        return Result::InvalidValue;
    }
    return Result::Success;
}

Result find_ours(DevicePointer address, size_t bytes, Place* place) {
    const Result result = find(address, bytes, place);
    if (result != Result::Success || place->allocation != nullptr) return result;
    return misuse(Result::InvalidValue, "an address that is neither the device's nor pinned");
}

static Result allocate_in(ContextObject& context, bool pinned, size_t bytes, void** made) {
    const Result safe = check_safe();
    if (safe != Result::Success) return safe;
    const auto allocation = allocate(context, pinned, bytes);
    if (allocation == nullptr) return Result::OutOfMemory;
    *made = allocation->program;
    return Result::Success;
}

Result cuMemAlloc_v2(DevicePointer* made, size_t bytes) {
    return call_in_context("cuMemAlloc_v2", [&](ContextObject& context) {
        if (bytes == 0) return Result::InvalidValue;
        void* address = nullptr;
        const Result result = allocate_in(context, false, bytes, &address);
        if (result == Result::Success) *made = reinterpret_cast<DevicePointer>(address);
        return result;
    });
}

Result cuMemHostAlloc(void** made, size_t bytes, unsigned) {
    return call_in_context("cuMemHostAlloc", [&](ContextObject& context) {
        if (bytes > 0) return allocate_in(context, true, bytes, made);
        *made = nullptr;
        return Result::Success;
    });
}

// Every operation on it must be known to be done. The driver waits for the device when it frees,
// but nobody promises that, and who counts on it may wait for ever.
static void check_unused(const Allocation& allocation) {
    const Access* const access = allocation.history.unknown_to(model().host);
    if (access == nullptr && allocation.enqueued == 0) return;
    const std::string use = access == nullptr
                                ? std::to_string(allocation.enqueued) + " operations enqueued"
                                : access->text;
    report("FREED", std::string(this_thread().call) + ": " + describe(allocation) +
                        " is freed, and the program has not seen the end of " + use);
}

static Result free_at(uint64_t address, bool pinned) {
    const Result safe = check_safe();
    if (safe != Result::Success || address == 0) return safe;
    const auto allocation = allocation_at(address);
    if (allocation == nullptr || reinterpret_cast<uint64_t>(allocation->program) != address ||
        allocation->pinned != pinned)
        return misuse(Result::InvalidValue, "nothing was allocated at this address");
    if (!allocation->alive) {
        report("DEAD", std::string(this_thread().call) + ": " + describe(*allocation) +
                           " was freed already");
        return Result::InvalidValue;
    }
    check_unused(*allocation);
    settle(last_of_all(*allocation->context));
    if (allocation->alive) release(allocation);
    return Result::Success;
}

Result cuMemFree_v2(DevicePointer address) {
    return call("cuMemFree_v2", [&] { return free_at(address, false); });
}

Result cuMemFreeHost(void* address) {
    return call("cuMemFreeHost",
                [&] { return free_at(reinterpret_cast<uint64_t>(address), true); });
}

Result cuMemAllocManaged(DevicePointer*, size_t, unsigned) {
    return call("cuMemAllocManaged", [] { return not_supported; });
}

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
    return call_in_context("cuMemGetInfo_v2", [&](ContextObject& context) {
        *total = settings().bytes;
        *free = settings().bytes - bytes_used(context.device);
        return Result::Success;
    });
}

Result cuMemHostGetDevicePointer_v2(DevicePointer* device, void* host, unsigned) {
    return call_in_context("cuMemHostGetDevicePointer_v2", [&](ContextObject&) {
        const auto allocation = allocation_at(reinterpret_cast<uint64_t>(host));
        if (allocation == nullptr || !allocation->alive || !allocation->pinned)
            return Result::InvalidValue;
        *device = reinterpret_cast<DevicePointer>(host);
        return Result::Success;
    });
}

Result cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePointer address) {
    return call("cuPointerGetAttribute", [&] {
        const auto allocation = allocation_at(address);
        if (allocation == nullptr || !allocation->alive) return Result::InvalidValue;
        int answer = 0;
        if (attribute == PointerAttribute::MemoryType)
            answer = static_cast<int>(allocation->pinned ? MemoryType::Host : MemoryType::Device);
        else if (attribute == PointerAttribute::DeviceOrdinal)
            answer = allocation->device;
        else if (attribute != PointerAttribute::IsManaged)
            return not_supported;
        std::memcpy(value, &answer, sizeof answer);
        return Result::Success;
    });
}

}  // namespace tutti::cuda
