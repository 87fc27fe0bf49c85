/* See on_devices.h. */
#include "on_devices.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_DEFAULT = 0,
    PORTABLE = 1,
    WAIT_EQUAL = 1,
    CAPTURE_THREAD_LOCAL = 1,
    NOT_READY = 600
};

struct gate {
    volatile uint32_t value;
};

/* A call of the driver, by its symbol and the types of its parameters. */
#define CALL(symbol, types, ...)                                    \
    do {                                                            \
        int(*call_) types;                                          \
        void* const found_ = cuda_function(symbol);                 \
        memcpy(&call_, &found_, sizeof found_);                     \
        const int result_ = call_(__VA_ARGS__);                     \
        if (result_ != 0) {                                         \
            fprintf(stderr, "cuda: %s gave %d\n", symbol, result_); \
            abort();                                                \
        }                                                           \
    } while (0)

int device_count(void) {
    char why[300];
    return cuda_devices(why, sizeof why);
}

int without_device(void) {
    char why[300];
    if (cuda_devices(why, sizeof why) > 0) return 0;
    printf("skipped: %s\n", why);
    return 77;
}

int on_the_double(void) {
    const char* const given = getenv("TUTTI_CUDA_LIBRARY");
    return given != NULL && strstr(given, "fake_cuda") != NULL;
}

static void* find_in_fake_nccl(const char* symbol) {
    void* const nccl = dlopen(getenv("TUTTI_NCCL_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    void* const found = nccl == NULL ? NULL : dlsym(nccl, symbol);
    if (found == NULL) {
        fprintf(stderr, "no %s in the double of NCCL\n", symbol);
        abort();
    }
    return found;
}

int ask_fake_nccl(const char* symbol) {
    int (*ask)(void);
    void* const found = find_in_fake_nccl(symbol);
    memcpy(&ask, &found, sizeof found);
    return ask();
}

const char* fake_nccl_config(void) {
    const char* (*ask)(void);
    void* const found = find_in_fake_nccl("fake_nccl_last_config");
    memcpy(&ask, &found, sizeof found);
    return ask();
}

int32_t use_device(const rank_context* me) {
    const int32_t device = me->rank % device_count();
    cuda_use(device);
    return device;
}

size_t free_bytes(void) {
    size_t left = 0, all = 0;
    CALL("cuMemGetInfo_v2", (size_t*, size_t*), &left, &all);
    return left;
}

tutti_buffer on_cuda(int32_t device, const void* data, int64_t count, tutti_dtype dtype) {
    tutti_buffer buffer = TUTTI_BUFFER_INIT(NULL, count, dtype);
    buffer.data = (void*)(uintptr_t)data;
    buffer.device_type = TUTTI_CUDA;
    buffer.device_index = device;
    return buffer;
}

static void* room_for(size_t bytes) {
    void* const memory = malloc(bytes);
    if (memory == NULL) abort();
    return memory;
}

int32_t* numbers_of(int64_t count, int32_t value) {
    const size_t bytes = (size_t)count * sizeof(int32_t);
    int32_t* const here = (int32_t*)room_for(bytes);
    for (int64_t i = 0; i < count; ++i) here[i] = value;
    int32_t* const there = (int32_t*)cuda_alloc(bytes);
    cuda_copy_in(there, here, bytes);
    free(here);
    return there;
}

int all_are(const int32_t* numbers, int64_t count, int32_t value) {
    const size_t bytes = (size_t)count * sizeof(int32_t);
    int32_t* const here = (int32_t*)room_for(bytes);
    cuda_copy_out(here, numbers, bytes);
    int64_t right = 0;
    while (right < count && here[right] == value) ++right;
    if (right < count) {
        fprintf(stderr, "element %d of %d is %d, not %d\n", (int)right, (int)count,
                (int)here[right], (int)value);
    }
    free(here);
    return right == count;
}

gate* gate_make(void) {
    void* memory = NULL;
    CALL("cuMemHostAlloc", (void**, size_t, unsigned), &memory, 4096, PORTABLE);
    gate* const made = (gate*)memory;
    made->value = 0;
    return made;
}

void gate_close(const gate* one, void* stream) {
    CALL("cuStreamWaitValue32_v2", (void*, unsigned long long, uint32_t, unsigned), stream,
         (unsigned long long)(uintptr_t)&one->value, 1, WAIT_EQUAL);
}

void gate_open(gate* one) {
    one->value = 1;
}

void gate_end(gate* one) {
    CALL("cuMemFreeHost", (void*), one);
}

int stream_is_done(void* stream) {
    int (*query)(void*);
    void* const found = cuda_function("cuStreamQuery");
    memcpy(&query, &found, sizeof found);
    const int result = query(stream);
    if (result == NOT_READY) return 0;
    if (result != 0) abort();
    return 1;
}

void* make_blocking_stream(void) {
    void* stream = NULL;
    CALL("cuStreamCreate", (void**, unsigned), &stream, STREAM_DEFAULT);
    return stream;
}

void begin_capture(void* stream) {
    CALL("cuStreamBeginCapture_v2", (void*, int), stream, CAPTURE_THREAD_LOCAL);
}

void end_capture(void* stream) {
    void* graph = NULL;
    CALL("cuStreamEndCapture", (void*, void**), stream, &graph);
    if (graph != NULL) CALL("cuGraphDestroy", (void*), graph);
}

tutti_status add_up(rank_context* me, const tutti_buffer* buffer, const tutti_call_options* options,
                    tutti_work** work) {
    return tutti_all_reduce(me->group, NULL, buffer, TUTTI_SUM, options, work, &me->error);
}

cuda_graph* end_capture_as_graph(void* stream) {
    void *made = NULL, *ready = NULL;
    if (on_the_double()) {
        end_capture(stream);
        return NULL;
    }
    CALL("cuStreamEndCapture", (void*, void**), stream, &made);
    CALL("cuGraphInstantiateWithFlags", (void**, void*, unsigned long long), &ready, made, 0);
    CALL("cuGraphDestroy", (void*), made);
    return (cuda_graph*)ready;
}

void graph_run(cuda_graph* one, void* stream) {
    CALL("cuGraphLaunch", (void*, void*), one, stream);
}

void graph_end(cuda_graph* one) {
    CALL("cuGraphExecDestroy", (void*), one);
}
