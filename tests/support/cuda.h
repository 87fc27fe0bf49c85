/* The part of NVIDIA's driver that tests use: found in the running system, or a double of it where
 * TUTTI_CUDA_LIBRARY names one. Public headers only; C99. A call of the driver that fails ends the
 * test. Any thread. */
#ifndef TUTTI_TESTS_CUDA_H
#define TUTTI_TESTS_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Devices, or 0: then `why` says why there is none. */
int cuda_devices(char* why, size_t size);

/* A function of the driver by its symbol, for what is not here. */
void* cuda_function(const char* symbol);

/* The calls of this thread are for that device from now on. */
void cuda_use(int32_t device);
/* A stream that does not wait for the default one. */
void* cuda_make_stream(void);
void cuda_end_stream(void* stream);
void* cuda_alloc(size_t bytes);
void cuda_free(void* memory);
/* On a stream; NULL: the default one. Between two places of the device. */
void cuda_copy(void* to, const void* from, size_t bytes, void* stream);
void cuda_fill(void* memory, unsigned char byte, size_t bytes, void* stream);
/* Return when they are done. */
void cuda_copy_in(void* device, const void* host, size_t bytes);
void cuda_copy_out(void* host, const void* device, size_t bytes);
void cuda_wait(void* stream);

#endif
