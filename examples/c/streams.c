/* Streams, as in torch's documentation: an all_reduce of a buffer on a GPU in the background, whose
 * result another stream uses without the CPU waiting for it.
 *   tuttirun --nproc-per-node 2 streams
 * Ranks share the GPUs that there are. Uses the CUDA driver's interface; with the runtime's, pass
 * the cudaStream_t as it is. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

static tutti_error error = TUTTI_ERROR_INIT;

static void ok(tutti_status status) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static void cuda_ok(CUresult result) {
    const char* text = NULL;
    if (result == CUDA_SUCCESS) return;
    (void)cuGetErrorString(result, &text);
    fprintf(stderr, "CUDA: %s\n", text);
    exit(1);
}

static int32_t use_a_gpu(int32_t rank) {
    int devices = 0;
    CUdevice device;
    CUcontext context;
    cuda_ok(cuInit(0));
    cuda_ok(cuDeviceGetCount(&devices));
    cuda_ok(cuDeviceGet(&device, rank % devices));
    cuda_ok(cuDevicePrimaryCtxRetain(&context, device));
    cuda_ok(cuCtxSetCurrent(context));
    return rank % devices;
}

int main(void) {
    enum { COUNT = 1 << 20 };
    ok(tutti_init_process_group(NULL, NULL, NULL, -1, -1, NULL, &error));
    const int32_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    const int32_t gpu = use_a_gpu(rank);

    CUdeviceptr output, kept;
    CUstream producer, consumer;
    cuda_ok(cuMemAlloc(&output, COUNT * sizeof(int32_t)));
    cuda_ok(cuMemAlloc(&kept, COUNT * sizeof(int32_t)));
    cuda_ok(cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING));
    cuda_ok(cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING));

    /* The all_reduce comes after this, which need not be done when the call is made. */
    cuda_ok(cuMemsetD32Async(output, (unsigned)rank + 1, COUNT, producer));
    tutti_buffer buffer = TUTTI_BUFFER_INIT((void*)output, COUNT, TUTTI_INT32);
    buffer.device_type = TUTTI_CUDA;
    buffer.device_index = gpu;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = producer;
    tutti_work* work = NULL;
    ok(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, &options, &work, &error));

    /* The next call on this stream finds the sums. Without this line it might copy what was
     * there before. */
    ok(tutti_work_synchronize(work, consumer, &error));
    cuda_ok(cuMemcpyAsync(kept, output, COUNT * sizeof(int32_t), consumer));

    int32_t sum = 0;
    cuda_ok(cuStreamSynchronize(consumer));
    cuda_ok(cuMemcpyDtoH(&sum, kept + (COUNT - 1) * sizeof sum, sizeof sum));
    printf("rank %d on cuda:%d: sum = %d\n", (int)rank, (int)gpu, (int)sum);

    ok(tutti_work_wait(work, TUTTI_NO_TIMEOUT, &error));
    tutti_work_release(work);
    cuda_ok(cuStreamDestroy(consumer));
    cuda_ok(cuStreamDestroy(producer));
    cuda_ok(cuMemFree(kept));
    cuda_ok(cuMemFree(output));
    ok(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    return 0;
}
