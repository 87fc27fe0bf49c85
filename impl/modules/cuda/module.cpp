// libtutti-cuda.so: the table of NVIDIA's devices, over their driver. Any thread.
#include <algorithm>
#include <cstring>

#include "device/table.h"
#include "library.hpp"

namespace tutti::cuda {

namespace {

tutti_status tell(const Failure& failure, tutti_device_failure* out) {
    out->code = failure.code;
    const size_t length = std::min(failure.message.size(), sizeof out->message - 1);
    std::memcpy(out->message, failure.message.data(), length);
    out->message[length] = '\0';
    return failure.status;
}

// The one place where exceptions end.
template <typename Body>
tutti_status guard(tutti_device_failure* out, Body&& body) {
    try {
        body(Library::get());
        return TUTTI_OK;
    } catch (const Failure& failure) {
        return tell(failure, out);
    } catch (const std::exception& error) {
        return tell({TUTTI_ERR_OUT_OF_MEMORY, 0, error.what()}, out);
    }
}

template <typename Body>
tutti_status guard_in(int32_t device, tutti_device_failure* out, Body&& body) {
    return guard(out, [&](const Library& library) {
        const InContext context(library, device);
        body(library);
    });
}

// A stream in hand needs no current context, unlike a default one.
template <typename Body>
tutti_status guard_on(int32_t device, void* stream, tutti_device_failure* out, Body&& body) {
    if (tutti_device_is_default_stream(stream)) return guard_in(device, out, body);
    return guard(out, body);
}

DevicePointer address(const void* memory) {
    return reinterpret_cast<DevicePointer>(memory);
}

tutti_status count(int32_t* devices, tutti_device_failure* failure) {
    return guard(failure, [&](const Library& cuda) { *devices = cuda.devices(); });
}

tutti_status device_of(const void* memory, int32_t* device, tutti_device_failure* failure) {
    return guard(failure, [&](const Library& cuda) {
        *device = -1;
        MemoryType type{};
        int ordinal = 0;
        const Result result =
            cuda.pointer_attribute(&type, PointerAttribute::MemoryType, address(memory));
        if (result == Result::InvalidValue) return;  // the driver has never heard of it
        cuda.check(result, "cuPointerGetAttribute");
        if (type != MemoryType::Device) return;
        cuda.check(
            cuda.pointer_attribute(&ordinal, PointerAttribute::DeviceOrdinal, address(memory)),
            "cuPointerGetAttribute");
        *device = ordinal;
    });
}

tutti_status stream_create(int32_t device, int32_t high_priority, void** stream,
                           tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        Stream made = nullptr;
        int lowest = 0, highest = 0;
        cuda.check(cuda.priority_range(&lowest, &highest), "cuCtxGetStreamPriorityRange");
        cuda.check(cuda.stream_create(&made, stream_non_blocking, high_priority != 0 ? highest : 0),
                   "cuStreamCreateWithPriority");
        *stream = made;
    });
}

tutti_status stream_destroy(int32_t device, void* stream, tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.stream_destroy(static_cast<Stream>(stream)), "cuStreamDestroy");
    });
}

tutti_status stream_is_capturing(int32_t device, void* stream, int32_t* capturing,
                                 tutti_device_failure* failure) {
    return guard_on(device, stream, failure, [&](const Library& cuda) {
        CaptureStatus status{};
        Context context = nullptr;
        if (!tutti_device_is_default_stream(stream)) {
            cuda.check(cuda.stream_context(static_cast<Stream>(stream), &context),
                       "cuStreamGetCtx");
            if (context != cuda.context(device)) {
                throw Failure{TUTTI_ERR_INVALID_ARGUMENT, 0, "it is of another device or context"};
            }
        }
        cuda.check(cuda.stream_is_capturing(static_cast<Stream>(stream), &status),
                   "cuStreamIsCapturing");
        *capturing = status == CaptureStatus::None ? 0 : 1;
    });
}

tutti_status stream_wait_event(int32_t device, void* stream, void* event,
                               tutti_device_failure* failure) {
    return guard_on(device, stream, failure, [&](const Library& cuda) {
        cuda.check(
            cuda.stream_wait_event(static_cast<Stream>(stream), static_cast<Event>(event), 0),
            "cuStreamWaitEvent");
    });
}

tutti_status event_create(int32_t device, void** event, tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        Event made = nullptr;
        cuda.check(cuda.event_create(&made, event_disable_timing), "cuEventCreate");
        *event = made;
    });
}

tutti_status event_destroy(int32_t device, void* event, tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.event_destroy(static_cast<Event>(event)), "cuEventDestroy");
    });
}

tutti_status event_record(int32_t device, void* event, void* stream,
                          tutti_device_failure* failure) {
    return guard_on(device, stream, failure, [&](const Library& cuda) {
        cuda.check(cuda.event_record(static_cast<Event>(event), static_cast<Stream>(stream)),
                   "cuEventRecord");
    });
}

tutti_status event_query(int32_t device, void* event, int32_t* passed,
                         tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        const Result result = cuda.event_query(static_cast<Event>(event));
        *passed = result == Result::NotReady ? 0 : 1;
        if (result != Result::NotReady) cuda.check(result, "cuEventQuery");
    });
}

tutti_status copy(int32_t device, void* to, const void* from, size_t bytes, void* stream,
                  tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.copy_async(address(to), address(from), bytes, static_cast<Stream>(stream)),
                   "cuMemcpyAsync");
    });
}

tutti_status zero(int32_t device, void* memory, size_t bytes, void* stream,
                  tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.set_async(address(memory), 0, bytes, static_cast<Stream>(stream)),
                   "cuMemsetD8Async");
    });
}

tutti_status host_alloc(int32_t device, size_t bytes, void** memory,
                        tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.host_alloc(memory, bytes, host_memory_portable), "cuMemHostAlloc");
    });
}

tutti_status host_free(int32_t device, void* memory, tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.host_free(memory), "cuMemFreeHost");
    });
}

tutti_status alloc(int32_t device, size_t bytes, void** memory, tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        DevicePointer made = 0;
        cuda.check(cuda.alloc(&made, bytes), "cuMemAlloc");
        *memory = reinterpret_cast<void*>(made);
    });
}

tutti_status free(int32_t device, void* memory, tutti_device_failure* failure) {
    return guard_in(device, failure, [&](const Library& cuda) {
        cuda.check(cuda.free(address(memory)), "cuMemFree");
    });
}

constexpr tutti_device_table table{
    .version = tutti_device_table_version,
    .size = sizeof(tutti_device_table),
    .count = count,
    .device_of = device_of,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_is_capturing = stream_is_capturing,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .copy = copy,
    .zero = zero,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .alloc = alloc,
    .free = free,
};

}  // namespace

}  // namespace tutti::cuda

extern "C" __attribute__((visibility("default"))) const tutti_device_table* tutti_device_module() {
    return &tutti::cuda::table;
}
