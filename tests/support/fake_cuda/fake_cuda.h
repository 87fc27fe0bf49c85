/* The functions that the double has and no driver: work of one's own on a stream, for doubles of
 * libraries that give the device work, and what tests ask. Find them by dlsym in the library that
 * is loaded. */
#ifndef TUTTI_TESTS_FAKE_CUDA_H
#define TUTTI_TESTS_FAKE_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    unsigned long long address; /* as the program knows it: of the device, or pinned */
    size_t bytes;
    int writes;
} fake_cuda_range;

/* Enqueues a kernel that touches these ranges. When it is its turn step(user) is called inside
 * calls of the driver by any thread, again and again, until it is not 0; it may call no driver.
 * name must live as long as the process. Returns 0, or an error of the driver. What is captured is
 * never called. */
int fake_cuda_launch(void* stream, const char* name, const fake_cuda_range* ranges, size_t count,
                     int (*step)(void* user), void* user);

/* Where a step finds the memory of this address; NULL, if it is not the device's nor pinned. */
void* fake_cuda_memory(unsigned long long address);

/* How often this process has asked for the primary context of a device: 0 means that it has none
 * there, and never had. */
int fake_cuda_retentions(int device);

#ifdef __cplusplus
}
#endif
#endif
