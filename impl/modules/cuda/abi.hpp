// The part of NVIDIA's driver interface that tutti uses, declared here: the module builds where
// there is no CUDA Toolkit. tests/unit/modules/cuda compares it with cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::cuda {

// Pointers to types of the driver; what they point to only the driver knows.
using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using DeviceNumber = int;
using DevicePointer = unsigned long long;

// CUresult: those that tutti tells apart.
enum class Result : int {
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NotInitialized = 3,
    Deinitialized = 4,
    StubLibrary = 34,
    NoDevice = 100,
    InvalidContext = 201,
    InvalidHandle = 400,
    NotReady = 600,
    StreamCaptureUnsupported = 900
};

enum class PointerAttribute : int { MemoryType = 2, IsManaged = 8, DeviceOrdinal = 9 };
enum class MemoryType : int { Host = 1, Device = 2, Array = 3, Unified = 4 };
enum class CaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };
enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };

constexpr unsigned stream_non_blocking = 1;   // CU_STREAM_NON_BLOCKING
constexpr unsigned event_blocking_sync = 1;   // CU_EVENT_BLOCKING_SYNC
constexpr unsigned event_disable_timing = 2;  // CU_EVENT_DISABLE_TIMING
constexpr unsigned host_memory_portable = 1;  // CU_MEMHOSTALLOC_PORTABLE
inline const Stream legacy_stream = nullptr;  // the default stream

// Every function, by the name that the library has it under: F(member, symbol, parameters...).
#define TUTTI_CUDA_FUNCTIONS(F)                                                         \
    F(init, cuInit, unsigned)                                                           \
    F(device_count, cuDeviceGetCount, int*)                                             \
    F(device_get, cuDeviceGet, DeviceNumber*, int)                                      \
    F(retain_context, cuDevicePrimaryCtxRetain, Context*, DeviceNumber)                 \
    F(push_context, cuCtxPushCurrent_v2, Context)                                       \
    F(pop_context, cuCtxPopCurrent_v2, Context*)                                        \
    F(priority_range, cuCtxGetStreamPriorityRange, int*, int*)                          \
    F(stream_create, cuStreamCreateWithPriority, Stream*, unsigned, int)                \
    F(stream_destroy, cuStreamDestroy_v2, Stream)                                       \
    F(stream_wait_event, cuStreamWaitEvent, Stream, Event, unsigned)                    \
    F(stream_context, cuStreamGetCtx, Stream, Context*)                                 \
    F(stream_is_capturing, cuStreamIsCapturing, Stream, CaptureStatus*)                 \
    F(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, CaptureMode*)           \
    F(event_create, cuEventCreate, Event*, unsigned)                                    \
    F(event_destroy, cuEventDestroy_v2, Event)                                          \
    F(event_record, cuEventRecord, Event, Stream)                                       \
    F(event_query, cuEventQuery, Event)                                                 \
    F(host_alloc, cuMemHostAlloc, void**, size_t, unsigned)                             \
    F(host_free, cuMemFreeHost, void*)                                                  \
    F(alloc, cuMemAlloc_v2, DevicePointer*, size_t)                                     \
    F(free, cuMemFree_v2, DevicePointer)                                                \
    F(copy_async, cuMemcpyAsync, DevicePointer, DevicePointer, size_t, Stream)          \
    F(set_async, cuMemsetD8Async, DevicePointer, unsigned char, size_t, Stream)         \
    F(pointer_attribute, cuPointerGetAttribute, void*, PointerAttribute, DevicePointer) \
    F(error_name, cuGetErrorName, Result, const char**)                                 \
    F(error_string, cuGetErrorString, Result, const char**)

}  // namespace tutti::cuda
