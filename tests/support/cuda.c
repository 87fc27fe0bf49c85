#include "support/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static struct {
    int (*init)(unsigned);
    int (*device_count)(int*);
    int (*device_get)(int*, int);
    int (*retain)(void**, int);
    int (*set_current)(void*);
    int (*stream_create)(void**, unsigned);
    int (*stream_destroy)(void*);
    int (*stream_synchronize)(void*);
    int (*alloc)(address*, size_t);
    int (*free)(address);
    int (*copy)(address, address, size_t, void*);
    int (*copy_in)(address, const void*, size_t);
    int (*copy_out)(void*, address, size_t);
    int (*fill)(address, unsigned char, size_t, void*);
} driver;

static const struct {
    const char* symbol;
    void* place;
} functions[] = {{"cuInit", &driver.init},
                 {"cuDeviceGetCount", &driver.device_count},
                 {"cuDeviceGet", &driver.device_get},
                 {"cuDevicePrimaryCtxRetain", &driver.retain},
                 {"cuCtxSetCurrent", &driver.set_current},
                 {"cuStreamCreate", &driver.stream_create},
                 {"cuStreamDestroy_v2", &driver.stream_destroy},
                 {"cuStreamSynchronize", &driver.stream_synchronize},
                 {"cuMemAlloc_v2", &driver.alloc},
                 {"cuMemFree_v2", &driver.free},
                 {"cuMemcpyAsync", &driver.copy},
                 {"cuMemcpyHtoD_v2", &driver.copy_in},
                 {"cuMemcpyDtoH_v2", &driver.copy_out},
                 {"cuMemsetD8Async", &driver.fill}};

enum { STREAM_NON_BLOCKING = 1 };

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static void* library;
static int devices;
static char reason[300];

static void check(int result, const char* what) {
    if (result == 0) return;
    fprintf(stderr, "cuda: %s gave %d\n", what, result);
    abort();
}

static void load(void) {
    const char* const given = getenv("TUTTI_CUDA_LIBRARY");
    library = dlopen(given != NULL ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(reason, sizeof reason, "no CUDA driver: %s", dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        void* const found = dlsym(library, functions[i].symbol);
        if (found == NULL) {
            (void)snprintf(reason, sizeof reason, "the CUDA driver has no %s", functions[i].symbol);
            return;
        }
        memcpy(functions[i].place, &found, sizeof found);
    }
    if (driver.init(0) != 0 || driver.device_count(&devices) != 0) devices = 0;
    if (devices == 0) (void)snprintf(reason, sizeof reason, "no CUDA device");
}

int cuda_devices(char* why, size_t size) {
    check(pthread_once(&loaded, load), "pthread_once");
    if (devices == 0) (void)snprintf(why, size, "%s", reason);
    return devices;
}

void* cuda_function(const char* symbol) {
    check(pthread_once(&loaded, load), "pthread_once");
    void* const found = library != NULL ? dlsym(library, symbol) : NULL;
    if (found != NULL) return found;
    fprintf(stderr, "cuda: the driver has no %s\n", symbol);
    abort();
}

void cuda_use(int32_t device) {
    int handle = 0;
    void* context = NULL;
    check(driver.device_get(&handle, device), "cuDeviceGet");
    check(driver.retain(&context, handle), "cuDevicePrimaryCtxRetain");
    check(driver.set_current(context), "cuCtxSetCurrent");
}

void* cuda_make_stream(void) {
    void* stream = NULL;
    check(driver.stream_create(&stream, STREAM_NON_BLOCKING), "cuStreamCreate");
    return stream;
}

void cuda_end_stream(void* stream) {
    check(driver.stream_destroy(stream), "cuStreamDestroy");
}

static address of(const void* memory) {
    return (address)(uintptr_t)memory;
}

void* cuda_alloc(size_t bytes) {
    address made = 0;
    check(driver.alloc(&made, bytes), "cuMemAlloc");
    return (void*)(uintptr_t)made;
}

void cuda_free(void* memory) {
    check(driver.free(of(memory)), "cuMemFree");
}

void cuda_copy(void* to, const void* from, size_t bytes, void* stream) {
    if (bytes > 0) check(driver.copy(of(to), of(from), bytes, stream), "cuMemcpyAsync");
}

void cuda_fill(void* memory, unsigned char byte, size_t bytes, void* stream) {
    if (bytes > 0) check(driver.fill(of(memory), byte, bytes, stream), "cuMemsetD8Async");
}

void cuda_copy_in(void* device, const void* host, size_t bytes) {
    if (bytes > 0) check(driver.copy_in(of(device), host, bytes), "cuMemcpyHtoD");
    cuda_wait(NULL); /* it may return as soon as the data have left `host` */
}

void cuda_copy_out(void* host, const void* device, size_t bytes) {
    if (bytes > 0) check(driver.copy_out(host, of(device), bytes), "cuMemcpyDtoH");
}

void cuda_wait(void* stream) {
    check(driver.stream_synchronize(stream), "cuStreamSynchronize");
}
