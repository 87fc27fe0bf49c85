// The table of C functions through which the engine uses a kind of device. A module such as
// libtutti-cuda.so exports one. All functions are callable from any thread, and none waits for a
// device unless it says so. They return a tutti_status and describe a failure.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tutti/types.h"

extern "C" {

// A failure, in a sentence.
struct tutti_device_failure {
    int32_t code;  // the driver's own number, or 0
    char message[508];
};

struct tutti_device_table {
    uint32_t version;  // tutti_device_table_version; of another version nothing else counts
    uint32_t size;     // of this struct
    // The driver is loaded on the first call. UNSUPPORTED: no driver, or no device.
    tutti_status (*count)(int32_t* devices, tutti_device_failure* failure);
    // The device that memory is on; -1: on none, or nothing is known of it.
    tutti_status (*device_of)(const void* memory, int32_t* device, tutti_device_failure* failure);

    // Streams are a program's or our own; null is the default stream. One of our own waits for no
    // other stream by itself; one of high priority goes before the others of the device.
    tutti_status (*stream_create)(int32_t device, int32_t high_priority, void** stream,
                                  tutti_device_failure* failure);
    tutti_status (*stream_destroy)(int32_t device, void* stream, tutti_device_failure* failure);
    // Whether a graph is being made of what is enqueued on it. INVALID_ARGUMENT: no stream of the
    // device.
    tutti_status (*stream_is_capturing)(int32_t device, void* stream, int32_t* capturing,
                                        tutti_device_failure* failure);
    tutti_status (*stream_wait_event)(int32_t device, void* stream, void* event,
                                      tutti_device_failure* failure);

    tutti_status (*event_create)(int32_t device, void** event, tutti_device_failure* failure);
    tutti_status (*event_destroy)(int32_t device, void* event, tutti_device_failure* failure);
    // After all that is on the stream by now.
    tutti_status (*event_record)(int32_t device, void* event, void* stream,
                                 tutti_device_failure* failure);
    tutti_status (*event_query)(int32_t device, void* event, int32_t* passed,
                                tutti_device_failure* failure);

    // Between any two places; memory of the CPU is from host_alloc.
    tutti_status (*copy)(int32_t device, void* to, const void* from, size_t bytes, void* stream,
                         tutti_device_failure* failure);
    tutti_status (*zero)(int32_t device, void* memory, size_t bytes, void* stream,
                         tutti_device_failure* failure);

    // Memory of the CPU that the devices copy to and from by themselves. Freeing it may wait.
    tutti_status (*host_alloc)(int32_t device, size_t bytes, void** memory,
                               tutti_device_failure* failure);
    tutti_status (*host_free)(int32_t device, void* memory, tutti_device_failure* failure);
    // Memory of a device; 1 byte or more. Freeing it may wait.
    tutti_status (*alloc)(int32_t device, size_t bytes, void** memory,
                          tutti_device_failure* failure);
    tutti_status (*free)(int32_t device, void* memory, tutti_device_failure* failure);
};

}  // extern "C"

constexpr uint32_t tutti_device_table_version = 2;
// Whether the handle is the name of a stream that every device has: null, CU_STREAM_LEGACY (1) or
// CU_STREAM_PER_THREAD (2).
inline bool tutti_device_is_default_stream(const void* stream) {
    return reinterpret_cast<uintptr_t>(stream) <= 2;
}
// The symbol that a module exports: `const tutti_device_table* tutti_device_module(void)`.
constexpr const char* tutti_device_module_symbol = "tutti_device_module";
