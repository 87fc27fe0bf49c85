// The functions of devices and contexts.
#include "engine.hpp"
#include "exports.hpp"
#include "fake_cuda.h"
#include "leaks.hpp"
#include "report.hpp"

#include <unistd.h>
#include <cstdio>
#include <cstdlib>

namespace tutti::cuda {

constexpr int version = 13000;

static Context handle_of(ContextObject* context) {
    return reinterpret_cast<Context>(context);
}

static Result for_device(const char* name, DeviceNumber device,
                         const std::function<Result(ContextObject&)>& body) {
    return call(name, [&] {
        if (device < 0 || device >= settings().devices)
            return misuse(Result{101}, "there is no device " + std::to_string(device));
        return body(*model().contexts[static_cast<size_t>(device)]);
    });
}

Result cuInit(unsigned flags) {
    return call("cuInit", [&] {
        if (flags != 0) return Result::InvalidValue;
        if (settings().devices == 0) return Result::NoDevice;
        if (model().process != 0) return Result::Success;
        model().process = getpid();
        for (int device = 0; device < settings().devices; device++) {
            model().contexts.push_back(std::make_unique<ContextObject>());
            ContextObject& context = *model().contexts.back();
            context.device = device;
            context.legacy = make_stream(context, false, "the default stream");
            context.legacy->legacy = true;
        }
        watch_faults();
        watch_exit();
        return Result::Success;
    });
}

Result cuDriverGetVersion(int* result) {
    *result = version;
    return Result::Success;
}

Result cuDeviceGetCount(int* count) {
    return call("cuDeviceGetCount", [&] {
        *count = settings().devices;
        return Result::Success;
    });
}

Result cuDeviceGet(DeviceNumber* device, int ordinal) {
    return for_device("cuDeviceGet", ordinal, [&](ContextObject& context) {
        *device = context.device;
        return Result::Success;
    });
}

Result cuDeviceGetName(char* name, int length, DeviceNumber device) {
    return for_device("cuDeviceGetName", device, [&](ContextObject& context) {
        std::snprintf(name, static_cast<size_t>(length), "fake device %d", context.device);
        return Result::Success;
    });
}

Result cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
    return for_device("cuDevicePrimaryCtxRetain", device, [&](ContextObject& primary) {
        primary.retained++;
        primary.retentions++;
        *context = handle_of(&primary);
        return Result::Success;
    });
}

// Things made in a context go with it, when their work is done.
static void destroy(ContextObject& context) {
    run_all();
    for (const auto& stream : model().streams)
        if (stream->context == &context && stream.get() != context.legacy) stream->alive = false;
    context.of_threads.clear();
    for (const auto& event : model().events)
        if (event->context == &context) event->alive = false;
    for (const auto& allocation : allocations_alive())
        if (allocation->context == &context) release(allocation);
}

Result cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
    return for_device("cuDevicePrimaryCtxRelease_v2", device, [&](ContextObject& primary) {
        if (primary.retained == 0)
            return misuse(Result::InvalidContext, "released more often than retained");
        if (--primary.retained == 0) destroy(primary);
        return Result::Success;
    });
}

Result cuCtxPushCurrent_v2(Context handle) {
    return call("cuCtxPushCurrent_v2", [&] {
        if (handle == nullptr) return misuse(Result::InvalidValue, "null is no context");
        ContextObject* const context = context_of(handle);
        if (context == nullptr) return misuse(Result::InvalidContext, "this is no context");
        this_thread().contexts.push_back(context);
        return Result::Success;
    });
}

Result cuCtxPopCurrent_v2(Context* context) {
    return call_in_context("cuCtxPopCurrent_v2", [&](ContextObject& current) {
        if (context != nullptr) *context = handle_of(&current);
        this_thread().contexts.pop_back();
        return Result::Success;
    });
}

Result cuCtxSetCurrent(Context handle) {
    return call("cuCtxSetCurrent", [&] {
        ContextObject* const context = context_of(handle);
        if (handle != nullptr && context == nullptr)
            return misuse(Result::InvalidContext, "this is no context");
        auto& stack = this_thread().contexts;
        if (!stack.empty()) stack.pop_back();
        if (context != nullptr) stack.push_back(context);
        return Result::Success;
    });
}

Result cuCtxGetCurrent(Context* context) {
    return call("cuCtxGetCurrent", [&] {
        *context = handle_of(current_context());
        return Result::Success;
    });
}

Result cuCtxGetDevice(DeviceNumber* device) {
    return call_in_context("cuCtxGetDevice", [&](ContextObject& current) {
        *device = current.device;
        return Result::Success;
    });
}

Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return call_in_context("cuCtxGetStreamPriorityRange", [&](ContextObject&) {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = most_urgent;
        return Result::Success;
    });
}

}  // namespace tutti::cuda

[[gnu::visibility("default")]] int fake_cuda_retentions(int device) {
    using tutti::cuda::model;
    const std::lock_guard lock(model().mutex);
    const auto& contexts = model().contexts;
    const bool is_one = device >= 0 && static_cast<size_t>(device) < contexts.size();
    return is_one ? contexts[static_cast<size_t>(device)]->retentions : 0;
}
