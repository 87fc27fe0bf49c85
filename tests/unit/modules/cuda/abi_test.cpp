// Are our declarations of NVIDIA's driver those of cuda.h? The compiler looks at all of it. Handles
// and enumerations have other names there: only what the call of a function depends on is compared.
#include <cuda.h>  // first: it names its functions by macros

#include "erased.hpp"
#include "support/fake_cuda/functions.hpp"

#include <cstdio>

namespace tutti::cuda {

#define TUTTI_COMPARE(member, symbol, ...)                                                   \
    static_assert(                                                                           \
        std::is_same_v<Erased<decltype(::symbol)>::type, Erased<Result(__VA_ARGS__)>::type>, \
        #symbol " is declared otherwise in cuda.h");
TUTTI_CUDA_FUNCTIONS(TUTTI_COMPARE)
TUTTI_FAKE_CUDA_FUNCTIONS(TUTTI_COMPARE)

TUTTI_EQUAL(Result::Success, CUDA_SUCCESS)
TUTTI_EQUAL(Result::InvalidValue, CUDA_ERROR_INVALID_VALUE)
TUTTI_EQUAL(Result::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
TUTTI_EQUAL(Result::NotInitialized, CUDA_ERROR_NOT_INITIALIZED)
TUTTI_EQUAL(Result::Deinitialized, CUDA_ERROR_DEINITIALIZED)
TUTTI_EQUAL(Result::NoDevice, CUDA_ERROR_NO_DEVICE)
TUTTI_EQUAL(Result::InvalidContext, CUDA_ERROR_INVALID_CONTEXT)
TUTTI_EQUAL(Result::InvalidHandle, CUDA_ERROR_INVALID_HANDLE)
TUTTI_EQUAL(Result::NotReady, CUDA_ERROR_NOT_READY)
TUTTI_EQUAL(Result::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
TUTTI_EQUAL(illegal_state, CUDA_ERROR_ILLEGAL_STATE)
TUTTI_EQUAL(not_supported, CUDA_ERROR_NOT_SUPPORTED)
TUTTI_EQUAL(capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
TUTTI_EQUAL(capture_merge, CUDA_ERROR_STREAM_CAPTURE_MERGE)
TUTTI_EQUAL(capture_unmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
TUTTI_EQUAL(capture_unjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
TUTTI_EQUAL(capture_isolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
TUTTI_EQUAL(capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
TUTTI_EQUAL(captured_event, CUDA_ERROR_CAPTURED_EVENT)
TUTTI_EQUAL(capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)

TUTTI_EQUAL(PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
TUTTI_EQUAL(PointerAttribute::IsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED)
TUTTI_EQUAL(PointerAttribute::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
TUTTI_EQUAL(MemoryType::Host, CU_MEMORYTYPE_HOST)
TUTTI_EQUAL(MemoryType::Device, CU_MEMORYTYPE_DEVICE)
TUTTI_EQUAL(MemoryType::Array, CU_MEMORYTYPE_ARRAY)
TUTTI_EQUAL(MemoryType::Unified, CU_MEMORYTYPE_UNIFIED)
TUTTI_EQUAL(CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE)
TUTTI_EQUAL(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE)
TUTTI_EQUAL(CaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED)
TUTTI_EQUAL(CaptureMode::Global, CU_STREAM_CAPTURE_MODE_GLOBAL)
TUTTI_EQUAL(CaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
TUTTI_EQUAL(CaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED)

TUTTI_EQUAL(stream_non_blocking, CU_STREAM_NON_BLOCKING)
TUTTI_EQUAL(event_blocking_sync, CU_EVENT_BLOCKING_SYNC)
TUTTI_EQUAL(event_disable_timing, CU_EVENT_DISABLE_TIMING)
TUTTI_EQUAL(host_memory_portable, CU_MEMHOSTALLOC_PORTABLE)
TUTTI_EQUAL(wait_value_geq, CU_STREAM_WAIT_VALUE_GEQ)
TUTTI_EQUAL(wait_value_eq, CU_STREAM_WAIT_VALUE_EQ)
TUTTI_EQUAL(wait_value_and, CU_STREAM_WAIT_VALUE_AND)
TUTTI_EQUAL(wait_value_nor, CU_STREAM_WAIT_VALUE_NOR)

}  // namespace tutti::cuda

int main() {
    using namespace tutti::cuda;
    const bool right = static_cast<void*>(legacy_stream_by_name) == CU_STREAM_LEGACY &&
                       static_cast<void*>(stream_per_thread) == CU_STREAM_PER_THREAD;
    std::puts(right ? "as in cuda.h" : "the names of default streams differ from cuda.h");
    return right ? 0 : 1;
}
