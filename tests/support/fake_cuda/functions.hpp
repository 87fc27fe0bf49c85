// The functions that the double exports besides the functions that tutti uses: for programs that
// test it, and for those that use it as they would a device. tests/unit/modules/cuda compares it
// with cuda.h.
#pragma once

#include "modules/cuda/abi.hpp"

namespace tutti::cuda {

using Graph = struct CUgraph_st*;

// More of CUresult.
constexpr Result illegal_state{401};  // CUDA_ERROR_ILLEGAL_STATE
constexpr Result not_supported{801};
constexpr Result capture_invalidated{901};
constexpr Result capture_merge{902};
constexpr Result capture_unmatched{903};
constexpr Result capture_unjoined{904};
constexpr Result capture_isolation{905};
constexpr Result capture_implicit{906};
constexpr Result captured_event{907};
constexpr Result capture_wrong_thread{908};

constexpr unsigned wait_value_geq = 0;  // CU_STREAM_WAIT_VALUE_GEQ and those that follow it
constexpr unsigned wait_value_eq = 1;
constexpr unsigned wait_value_and = 2;
constexpr unsigned wait_value_nor = 3;

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: numbers in the place of pointers.
inline const Stream legacy_stream_by_name = reinterpret_cast<Stream>(1);
inline const Stream stream_per_thread = reinterpret_cast<Stream>(2);

#define TUTTI_FAKE_CUDA_FUNCTIONS(F)                                                          \
    F(driver_version, cuDriverGetVersion, int*)                                               \
    F(event_synchronize, cuEventSynchronize, Event)                                           \
    F(device_name, cuDeviceGetName, char*, int, DeviceNumber)                                 \
    F(stream_create_plain, cuStreamCreate, Stream*, unsigned)                                 \
    F(stream_query, cuStreamQuery, Stream)                                                    \
    F(stream_synchronize, cuStreamSynchronize, Stream)                                        \
    F(set_context, cuCtxSetCurrent, Context)                                                  \
    F(get_context, cuCtxGetCurrent, Context*)                                                 \
    F(context_device, cuCtxGetDevice, DeviceNumber*)                                          \
    F(context_synchronize, cuCtxSynchronize)                                                  \
    F(release_context, cuDevicePrimaryCtxRelease_v2, DeviceNumber)                            \
    F(copy_to_host, cuMemcpyDtoH_v2, void*, DevicePointer, size_t)                            \
    F(copy_to_device, cuMemcpyHtoD_v2, DevicePointer, const void*, size_t)                    \
    F(copy_to_host_async, cuMemcpyDtoHAsync_v2, void*, DevicePointer, size_t, Stream)         \
    F(copy_to_device_async, cuMemcpyHtoDAsync_v2, DevicePointer, const void*, size_t, Stream) \
    F(set_words_async, cuMemsetD32Async, DevicePointer, unsigned, size_t, Stream)             \
    F(wait_value, cuStreamWaitValue32_v2, Stream, DevicePointer, uint32_t, unsigned)          \
    F(write_value, cuStreamWriteValue32_v2, Stream, DevicePointer, uint32_t, unsigned)        \
    F(memory_info, cuMemGetInfo_v2, size_t*, size_t*)                                         \
    F(host_device_pointer, cuMemHostGetDevicePointer_v2, DevicePointer*, void*, unsigned)     \
    F(alloc_managed, cuMemAllocManaged, DevicePointer*, size_t, unsigned)                     \
    F(begin_capture, cuStreamBeginCapture_v2, Stream, CaptureMode)                            \
    F(stream_priority, cuStreamGetPriority, Stream, int*)                                     \
    F(end_capture, cuStreamEndCapture, Stream, Graph*)                                        \
    F(graph_destroy, cuGraphDestroy, Graph)

}  // namespace tutti::cuda
