/* The beginning of tests of data on CUDA devices: buffers on a device, and streams that a gate
 * holds back. Public headers and the driver's functions only, so the same programs run on a GPU and
 * on the double of the driver. A call of the driver that fails ends the program. C99; any thread.
 * */
#ifndef TUTTI_TESTS_ON_DEVICES_H
#define TUTTI_TESTS_ON_DEVICES_H

#include <stdio.h>

#include "support/cuda.h"
#include "support/ranks.h"

/* For main: the exit code with which ctest counts a test as skipped, or 0. */
int without_device(void);
int device_count(void);
/* Whether the double stands for the driver. */
int on_the_double(void);

/* A number that the double of NCCL tells: fake_nccl_splits, ... */
int ask_fake_nccl(const char* symbol);

/* The configuration of the communicator that this process made last, by the double of NCCL:
 * "blocking=0 comm_name=world". Until the next one is made. */
const char* fake_nccl_config(void);

/* The device of this rank, for all that its thread does from now on. */
int32_t use_device(const rank_context* me);

/* The rest of the current device's memory. */
size_t free_bytes(void);

/* Elements of `data` on a device. */
tutti_buffer on_cuda(int32_t device, const void* data, int64_t count, tutti_dtype dtype);
/* Memory on the current device with these numbers in it, which are there. */
int32_t* numbers_of(int64_t count, int32_t value);
/* Whether all of them are this; they are there. */
int all_are(const int32_t* numbers, int64_t count, int32_t value);

/* A stream that comes to a gate waits until it is opened; then the gate stays open. */
typedef struct gate gate;
gate* gate_make(void);
void gate_close(const gate* one, void* stream);
void gate_open(gate* one);
void gate_end(gate* one);
/* Whether all is done that was enqueued on the stream. */
int stream_is_done(void* stream);

/* Like cuda_make_stream, but it waits for the default stream, as that waits for it. */
void* make_blocking_stream(void);
/* Work enqueued on it until its end becomes part of a graph, which is thrown away. */
void begin_capture(void* stream);
void end_capture(void* stream);
/* The graph, to be run; NULL: the double makes none. */
typedef struct cuda_graph cuda_graph;
cuda_graph* end_capture_as_graph(void* stream);
void graph_run(cuda_graph* one, void* stream);
void graph_end(cuda_graph* one);

/* Calls with an int32 sum. */
tutti_status add_up(rank_context* me, const tutti_buffer* buffer, const tutti_call_options* options,
                    tutti_work** work);

#endif
