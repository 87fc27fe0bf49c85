/* Memory of tutti_memory_alloc on a device. The first argument is the backend. */
#include <sched.h>
#include <stdlib.h>

#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 20000, SEVERAL = 5 };

static const int64_t bytes = COUNT * (int64_t)sizeof(int32_t);

static tutti_memory_options on_device(int32_t device) {
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    return options;
}

static tutti_status alloc(rank_context* me, int32_t device, int64_t size, void** memory) {
    const tutti_memory_options options = on_device(device);
    return tutti_memory_alloc(me->group, size, &options, memory, &me->error);
}

static void use_several(rank_context* me) {
    const int32_t device = use_device(me);
    void* memory[SEVERAL];
    for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < SEVERAL; ++i) {
            RANK_OK(me, alloc(me, device, bytes, &memory[i]));
            RANK_EXPECT(me, all_are(memory[i], COUNT, 0));
        }
        for (int i = 0; i < SEVERAL; ++i) {
            const tutti_buffer buffer = on_cuda(device, memory[i], COUNT, TUTTI_INT32);
            cuda_fill(memory[i], 1, (size_t)bytes, NULL);
            RANK_OK(me, add_up(me, &buffer, NULL, NULL));
            RANK_EXPECT(me, all_are(memory[i], COUNT, me->size * 0x01010101));
        }
        for (int i = 0; i < SEVERAL; ++i) tutti_memory_release(memory[i]);
    }
    RANK_OK(me, alloc(me, device, 0, &memory[0]));
    RANK_EXPECT(me, memory[0] != NULL);
    tutti_memory_release(memory[0]);
    tutti_memory_release(memory[0]); /* nothing of ours any more */
}

RANK_TEST(use_several, 3)

/* It goes with the last operation that uses it, whatever the program knows of that. */
static void release_in_use(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = cuda_make_stream();
    gate* const held = gate_make();
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    void *memory = NULL, *second = NULL;
    tutti_work *work = NULL, *receiving = NULL;
    options.stream = stream;
    gate_close(held, stream);
    RANK_OK(me, alloc(me, device, bytes, &memory));
    RANK_OK(me, alloc(me, device, bytes, &second));
    const tutti_buffer buffer = on_cuda(device, memory, COUNT, TUTTI_INT32);
    RANK_OK(me, add_up(me, &buffer, &options, &work));
    tutti_memory_release(memory);
    const tutti_buffer place = on_cuda(device, second, COUNT, TUTTI_INT32);
    RANK_OK(me, tutti_recv(me->group, &place, me->rank, 0, &options, NULL, &receiving, &me->error));
    tutti_memory_release(second);
    gate_open(held);
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    int32_t* const numbers = numbers_of(COUNT, 1);
    const tutti_buffer message = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    RANK_OK(me, tutti_send(me->group, &message, me->rank, 0, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_wait(receiving, 0, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    tutti_work_release(receiving);
    cuda_free(numbers);
    cuda_wait(stream);
    cuda_end_stream(stream);
    gate_end(held);
}

RANK_TEST(release_in_use, 2)

/* The call has returned, and the device is not done: its results are only enqueued. */
static void release_what_a_stream_still_uses(rank_context* me) {
    const int32_t device = use_device(me);
    const int32_t next = (me->rank + 1) % me->size, last = (me->rank + me->size - 1) % me->size;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = cuda_make_stream();
    for (int turn = 0; turn < 10; ++turn) {
        void* memory = NULL;
        tutti_work* work = NULL;
        RANK_OK(me, alloc(me, device, bytes, &memory));
        const tutti_buffer buffer = on_cuda(device, memory, COUNT, TUTTI_INT32);
        if (turn % 2 == 0) {
            RANK_OK(me, add_up(me, &buffer, &options, NULL));
        } else {
            void* other = NULL;
            RANK_OK(me, alloc(me, device, bytes, &other));
            const tutti_buffer sent = on_cuda(device, other, COUNT, TUTTI_INT32);
            RANK_OK(me, tutti_send(me->group, &sent, next, 0, NULL, &work, &me->error));
            tutti_memory_release(other);
            RANK_OK(me, tutti_recv(me->group, &buffer, last, 0, &options, NULL, NULL, &me->error));
            RANK_OK(me, tutti_work_wait(work, 0, &me->error));
            tutti_work_release(work);
        }
        tutti_memory_release(memory);
    }
    cuda_wait(options.stream);
    cuda_end_stream(options.stream);
}

RANK_TEST(release_what_a_stream_still_uses, 2)

/* Also when no call before had to be watched. The first test of the process. */
static void release_after_the_first_call(rank_context* me) {
    const int32_t device = use_device(me);
    if (!on_the_double() || device_count() < 2) return; /* others have memory there, too */
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    int32_t here[4] = {1, 2, 3, 4};
    void* memory = NULL;
    options.stream = cuda_make_stream();
    RANK_OK(me, alloc(me, device, bytes, &memory));
    if (me->rank == 0) {
        const tutti_buffer message = TUTTI_BUFFER_INIT(here, 4, TUTTI_INT32);
        RANK_OK(me, tutti_send(me->group, &message, 1, 0, NULL, NULL, &me->error));
        tutti_memory_release(memory);
    } else {
        const size_t before = free_bytes();
        const tutti_buffer place = on_cuda(device, memory, 4, TUTTI_INT32);
        RANK_OK(me, tutti_recv(me->group, &place, 0, 0, &options, NULL, NULL, &me->error));
        tutti_memory_release(memory);
        cuda_wait(options.stream);
        while (free_bytes() < before + (size_t)bytes) sched_yield();
    }
    cuda_end_stream(options.stream);
}

RANK_TEST(release_after_the_first_call, 2)

/* A stream that waits, and for which the default stream waits, is no reason for it to wait. */
static void alloc_beside_a_stream_that_waits(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = make_blocking_stream();
    gate* const held = gate_make();
    void* memory = NULL;
    gate_close(held, stream);
    RANK_OK(me, alloc(me, device, bytes, &memory));
    gate_open(held);
    cuda_wait(stream);
    cuda_end_stream(stream);
    gate_end(held);
    RANK_EXPECT(me, all_are(memory, COUNT, 0));
    tutti_memory_release(memory);
}

RANK_TEST(alloc_beside_a_stream_that_waits, 2)

static void outlive_the_group(rank_context* me) {
    const int32_t device = use_device(me);
    void* memory = NULL;
    RANK_OK(me, alloc(me, device, bytes, &memory));
    RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
    me->group = NULL;
    cuda_fill(memory, 2, (size_t)bytes, NULL);
    cuda_wait(NULL);
    RANK_EXPECT(me, all_are(memory, COUNT, 0x02020202));
    tutti_memory_release(memory);
}

RANK_TEST(outlive_the_group, 2)

/* Rank 1 has none left. */
static void run_out_of_memory(rank_context* me) {
    const int32_t device = use_device(me);
    const char* const limit = getenv("TUTTI_FAKE_CUDA_BYTES");
    if (limit == NULL || device_count() < 2) return;
    const size_t all = strtoul(limit, NULL, 10);
    void* memory = NULL;
    char* const rest = me->rank == 1 ? (char*)cuda_alloc(all - (size_t)bytes) : NULL;
    RANK_STATUS(me, alloc(me, device, 2 * bytes, &memory), TUTTI_ERR_OUT_OF_MEMORY);
    RANK_EXPECT(me, me->error.rank == 1 && memory == NULL);
    RANK_SAYS(me, me->rank == 1 ? "memory_alloc" : "rank 1 can have no memory");
    RANK_OK(me, alloc(me, device, bytes / 2, &memory)); /* and the group lives */
    RANK_EXPECT(me, all_are(memory, COUNT / 2, 0));
    tutti_memory_release(memory);
    if (rest != NULL) cuda_free(rest);
}

RANK_TEST(run_out_of_memory, 2)

static void refuse(rank_context* me) {
    const int32_t device = use_device(me);
    void* memory = NULL;
    RANK_REFUSES(me, alloc(me, device, -1, &memory), "bytes is -1");
    RANK_REFUSES(me, alloc(me, device_count(), 16, &memory), "options.device_index is");
    RANK_REFUSES(me, alloc(me, device, 16, NULL), "out_memory is NULL");
    RANK_EXPECT(me, memory == NULL);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

RANK_TEST(refuse, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(release_after_the_first_call_on_ranks),
        TEST(use_several_on_ranks),
        TEST(release_in_use_on_ranks),
        TEST(release_what_a_stream_still_uses_on_ranks),
        TEST(alloc_beside_a_stream_that_waits_on_ranks),
        TEST(outlive_the_group_on_ranks),
        TEST(run_out_of_memory_on_ranks),
        TEST(refuse_on_ranks),
    };
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
