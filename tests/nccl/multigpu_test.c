/* The deprecated calls on a buffer of each GPU of a rank (tutti/multigpu.h). Ranks are processes,
 * of two GPUs each.
 *   nccl_multigpu_test BACKEND [dies] */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rank_program.h"

enum { GPUS = 2, RANKS_AT_MOST = 2, COUNT = 100003, IN_FLIGHT = 6, GROUPS = 5 };

static const char* backend;

/* The devices of this rank: `device` is the first. */
static int32_t gpu(int which) {
    return device + which;
}
/* The place of one among those of all ranks. */
static int32_t place(int which) {
    return me.rank * GPUS + which;
}
static int32_t places(void) {
    return me.size * GPUS;
}
static int32_t sum_of_places(void) {
    return places() * (places() - 1) / 2;
}

static tutti_buffer buffer_on(int which, int64_t count, int32_t value) {
    cuda_use(gpu(which));
    return on_cuda(gpu(which), numbers_of(count > 0 ? count : 1, value), count, TUTTI_INT32);
}
static void end_buffer(int which, const tutti_buffer* one) {
    cuda_use(gpu(which));
    cuda_free(one->data);
}
static void expect_all(int which, const tutti_buffer* one, int32_t value) {
    cuda_use(gpu(which));
    EXPECT(all_are((const int32_t*)one->data, one->count, value));
}

static void open_group(void) {
    OK(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backend, NULL, NULL, &me.group, &me.error));
}
static void close_group(void) {
    OK(tutti_destroy_process_group(me.group, NULL, &me.error));
    tutti_group_release(me.group);
}

static void all_buffers_are_added_up(void) {
    tutti_buffer buffers[GPUS];
    for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, COUNT, place(i));
    OK(tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, NULL, NULL, &me.error));
    for (int i = 0; i < GPUS; ++i) expect_all(i, &buffers[i], sum_of_places());
    for (int i = 0; i < GPUS; ++i) end_buffer(i, &buffers[i]);
}

static int32_t bits_of(float number) {
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void an_average_is_that_of_all_buffers(void) {
    tutti_buffer buffers[GPUS];
    for (int i = 0; i < GPUS; ++i) {
        buffers[i] = buffer_on(i, COUNT, bits_of((float)place(i)));
        buffers[i].dtype = TUTTI_FLOAT32;
    }
    OK(tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_AVG, NULL, NULL, &me.error));
    for (int i = 0; i < GPUS; ++i) {
        expect_all(i, &buffers[i], bits_of((float)sum_of_places() / (float)places()));
        end_buffer(i, &buffers[i]);
    }
}

static void every_buffer_is_a_source(void) {
    for (int32_t src = 0; src < me.size; ++src) {
        for (int32_t tensor = 0; tensor < GPUS; ++tensor) {
            tutti_buffer buffers[GPUS];
            for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, COUNT, 50 + place(i));
            OK(tutti_broadcast_multigpu(me.group, buffers, GPUS, src, tensor, NULL, NULL,
                                        &me.error));
            for (int i = 0; i < GPUS; ++i) {
                expect_all(i, &buffers[i], 50 + src * GPUS + tensor);
                end_buffer(i, &buffers[i]);
            }
        }
    }
}

static void every_buffer_is_a_destination(void) {
    for (int32_t dst = 0; dst < me.size; ++dst) {
        for (int32_t tensor = 0; tensor < GPUS; ++tensor) {
            tutti_buffer buffers[GPUS];
            for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, COUNT, place(i));
            OK(tutti_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, dst, tensor, NULL, NULL,
                                     &me.error));
            for (int i = 0; i < GPUS; ++i) {
                const int is_destination = me.rank == dst && i == tensor;
                expect_all(i, &buffers[i], is_destination ? sum_of_places() : place(i));
                end_buffer(i, &buffers[i]);
            }
        }
    }
}

static void every_gpu_gathers_all(int64_t count) {
    tutti_buffer inputs[GPUS], outputs[GPUS * GPUS * RANKS_AT_MOST];
    for (int i = 0; i < GPUS; ++i) {
        inputs[i] = buffer_on(i, count, 7 + place(i));
        for (int j = 0; j < places(); ++j) outputs[i * places() + j] = buffer_on(i, count, -1);
    }
    OK(tutti_all_gather_multigpu(me.group, inputs, GPUS, outputs, (int64_t)GPUS * places(), NULL,
                                 NULL, &me.error));
    for (int i = 0; i < GPUS; ++i) {
        for (int j = 0; j < places(); ++j) {
            expect_all(i, &outputs[i * places() + j], 7 + j);
            end_buffer(i, &outputs[i * places() + j]);
        }
        end_buffer(i, &inputs[i]);
    }
}

static void every_gpu_receives_its_part(void) {
    tutti_buffer outputs[GPUS], inputs[GPUS * GPUS * RANKS_AT_MOST];
    for (int i = 0; i < GPUS; ++i) {
        outputs[i] = buffer_on(i, COUNT, -1);
        for (int j = 0; j < places(); ++j) {
            inputs[i * places() + j] = buffer_on(i, COUNT, 100 * j + place(i));
        }
    }
    OK(tutti_reduce_scatter_multigpu(me.group, inputs, (int64_t)GPUS * places(), outputs, GPUS,
                                     TUTTI_SUM, NULL, NULL, &me.error));
    for (int i = 0; i < GPUS; ++i) {
        expect_all(i, &outputs[i], places() * 100 * place(i) + sum_of_places());
        for (int j = 0; j < places(); ++j) end_buffer(i, &inputs[i * places() + j]);
        end_buffer(i, &outputs[i]);
    }
}

static void count_up(void* user) {
    ++*(atomic_int*)user;
}

static void several_are_under_way(void) {
    tutti_buffer buffers[IN_FLIGHT][GPUS];
    tutti_work* works[IN_FLIGHT];
    static atomic_int calls_back[IN_FLIGHT];
    for (int n = 0; n < IN_FLIGHT; ++n) {
        tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
        for (int i = 0; i < GPUS; ++i) buffers[n][i] = buffer_on(i, COUNT, n + place(i));
        calls_back[n] = 0;
        options.on_done = count_up;
        options.on_done_user = &calls_back[n];
        OK(tutti_all_reduce_multigpu(me.group, buffers[n], GPUS, TUTTI_SUM, &options, &works[n],
                                     &me.error));
    }
    for (int n = IN_FLIGHT - 1; n >= 0; --n) {
        OK(tutti_work_wait(works[n], 0, &me.error));
        for (int i = 0; i < GPUS; ++i) {
            expect_all(i, &buffers[n][i], n * places() + sum_of_places());
            end_buffer(i, &buffers[n][i]);
        }
        tutti_work_release(works[n]);
    }
    for (int n = 0; n < IN_FLIGHT; ++n) {
        while (calls_back[n] == 0) sched_yield(); /* a wait may end before on_done is called */
    }
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    for (int n = 0; n < IN_FLIGHT; ++n) EXPECT(calls_back[n] == 1);
}

#define REFUSED(call, text)                               \
    do {                                                  \
        EXPECT((call) == TUTTI_ERR_INVALID_ARGUMENT);     \
        EXPECT(strstr(me.error.message, (text)) != NULL); \
    } while (0)

static void wrong_arguments_are_named(void) {
    int32_t number = 0;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_buffer good[GPUS], bad[GPUS];
    for (int i = 0; i < GPUS; ++i) good[i] = buffer_on(i, 8, 0);
    memcpy(bad, good, sizeof bad);
    options.stream = &options;
    REFUSED(tutti_all_reduce_multigpu(me.group, good, GPUS, TUTTI_SUM, &options, NULL, &me.error),
            "options.stream must be NULL");
    REFUSED(tutti_all_reduce_multigpu(me.group, NULL, GPUS, TUTTI_SUM, NULL, NULL, &me.error),
            "buffers is NULL");
    REFUSED(tutti_all_reduce_multigpu(me.group, good, 0, TUTTI_SUM, NULL, NULL, &me.error),
            "buffers is empty");
    REFUSED(tutti_all_reduce_multigpu(me.group, good, -1, TUTTI_SUM, NULL, NULL, &me.error),
            "buffer_count is -1");
    REFUSED(tutti_all_reduce_multigpu(me.group, good, GPUS, 99, NULL, NULL, &me.error),
            "there is no reduce op 99");
    bad[1] = good[0];
    REFUSED(tutti_all_reduce_multigpu(me.group, bad, GPUS, TUTTI_SUM, NULL, NULL, &me.error),
            "as is buffers[0]; each needs a device of its own");
    bad[1] = good[1];
    bad[1].count = 7;
    REFUSED(tutti_all_reduce_multigpu(me.group, bad, GPUS, TUTTI_SUM, NULL, NULL, &me.error),
            "buffers[1].count is 7, not 8");
    bad[1] = good[1];
    bad[1].dtype = TUTTI_FLOAT32;
    REFUSED(tutti_all_reduce_multigpu(me.group, bad, GPUS, TUTTI_SUM, NULL, NULL, &me.error),
            "buffers[1].dtype differs");
    bad[1] = good[1];
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT32);
    REFUSED(tutti_all_reduce_multigpu(me.group, &on_cpu, 1, TUTTI_SUM, NULL, NULL, &me.error),
            "buffers[0] is on the CPU");
    REFUSED(tutti_broadcast_multigpu(me.group, good, GPUS, me.size, 0, NULL, NULL, &me.error),
            "group_src is");
    REFUSED(tutti_broadcast_multigpu(me.group, good, GPUS, 0, GPUS, NULL, NULL, &me.error),
            "src_tensor is 2, but each rank has 2 buffers");
    REFUSED(tutti_reduce_multigpu(me.group, good, GPUS, TUTTI_SUM, -1, 0, NULL, NULL, &me.error),
            "group_dst is -1");
    REFUSED(tutti_reduce_multigpu(me.group, good, GPUS, TUTTI_SUM, 0, -1, NULL, NULL, &me.error),
            "dst_tensor is -1");
    REFUSED(tutti_all_gather_multigpu(me.group, good, GPUS, good, GPUS, NULL, NULL, &me.error),
            "output_count is 2, but must be ");
    REFUSED(tutti_reduce_scatter_multigpu(me.group, good, GPUS, good, GPUS, TUTTI_SUM, NULL, NULL,
                                          &me.error),
            "input_count is 2, but must be ");
    bad[0] = good[1];
    bad[1] = good[0];
    REFUSED(tutti_all_reduce_multigpu(me.group, bad, GPUS, TUTTI_SUM, NULL, NULL, &me.error),
            "all must have the same");
    EXPECT(tutti_all_reduce_multigpu((tutti_group*)&number, good, GPUS, TUTTI_SUM, NULL, NULL,
                                     &me.error) == TUTTI_ERR_INVALID_HANDLE);
    for (int i = 0; i < GPUS; ++i) end_buffer(i, &good[i]);
}

static void a_rank_with_wrong_arguments_is_named(void) {
    if (me.size == 1) return;
    const int is_wrong = me.rank == 1;
    tutti_buffer buffers[GPUS];
    for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, is_wrong && i == 1 ? 7 : 8, 1);
    EXPECT(tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, NULL, NULL, &me.error) ==
           (is_wrong ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_MISMATCH));
    EXPECT(is_wrong || me.error.rank == 1);
    EXPECT(strstr(me.error.message, "buffers[1].count is 7, not 8") != NULL);
    for (int i = 0; i < GPUS; ++i) end_buffer(i, &buffers[i]);
}

/* It leaves the group as it was. */
static void ranks_that_differ_in_number_are_told(void) {
    if (me.size == 1) return;
    tutti_buffer buffers[GPUS];
    for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, 8, 1);
    EXPECT(tutti_all_reduce_multigpu(me.group, buffers, me.rank == 0 ? 1 : GPUS, TUTTI_SUM, NULL,
                                     NULL, &me.error) == TUTTI_ERR_MISMATCH);
    EXPECT(strstr(me.error.message, "buffers on 1 device") != NULL);
    for (int i = 0; i < GPUS; ++i) end_buffer(i, &buffers[i]);
    all_buffers_are_added_up();
}

static void groups_come_and_go(void) {
    for (int n = 0; n < GROUPS; ++n) {
        open_group();
        all_buffers_are_added_up();
        close_group();
    }
}

typedef int starter(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
/* That of a sanitizer, which has to know all threads. */
extern starter __interceptor_pthread_create __attribute__((weak));

/* The library's own starts of threads come here, too. 1: the next one fails. */
static atomic_int starts_left;
__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*body)(void*), void* argument) {
    starter* start = __interceptor_pthread_create;
    if (atomic_fetch_sub(&starts_left, 1) == 1) return EAGAIN;
    if (start == NULL) *(void**)&start = dlsym(RTLD_NEXT, "pthread_create");
    return start(thread, attributes, body, argument);
}

static int32_t largest_of_all(int32_t number) {
    const tutti_buffer one = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT32);
    OK(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &one, TUTTI_MAX, NULL, NULL, &me.error));
    return number;
}

static tutti_status all_reduce(const tutti_buffer* buffers) {
    const tutti_status status =
        tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, NULL, NULL, &me.error);
    EXPECT(status == TUTTI_OK || me.error.rank == me.size - 1);
    return status;
}

/* Whichever it is of the threads that a first call starts. If that ends the call on all ranks, all
 * make it again; if on the last rank alone, nothing has begun, and it makes it again. Calls that
 * block in NCCL wait for a rank that has failed. */
static void a_rank_that_has_no_thread_left_is_named(void) {
    if (getenv("TUTTI_NCCL_BLOCKING") != NULL) return;
    int failures = 0;
    for (int start = 1, is_refused = 1; is_refused; ++start) {
        tutti_buffer buffers[GPUS];
        open_group();
        for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, COUNT, place(i));
        if (me.rank == me.size - 1) atomic_store(&starts_left, start);
        tutti_status status = all_reduce(buffers);
        is_refused = me.rank == me.size - 1 && atomic_load(&starts_left) <= 0;
        atomic_store(&starts_left, 0);
        if (status != TUTTI_OK) status = all_reduce(buffers), ++failures;
        EXPECT(largest_of_all(status) == -largest_of_all(-status));
        is_refused = largest_of_all(is_refused);
        for (int i = 0; i < GPUS; ++i) end_buffer(i, &buffers[i]);
        close_group();
    }
    EXPECT(largest_of_all(failures) > 0);
}

struct caller {
    pthread_t thread;
    tutti_buffer buffers[GPUS];
    tutti_status status;
};

static void* call_first(void* argument) {
    struct caller* const caller = argument;
    caller->status = tutti_all_reduce_multigpu(me.group, caller->buffers, GPUS, TUTTI_SUM, NULL,
                                               NULL, &me.error);
    return NULL;
}

/* A second thread of rank 0 is at it; its own call waits for the ranks only. */
static void a_call_behind_the_first_has_its_own_timeout(void) {
    if (me.size == 1) return;
    struct caller first;
    open_group();
    for (int i = 0; i < GPUS; ++i) first.buffers[i] = buffer_on(i, COUNT, place(i));
    if (me.rank == 0) {
        tutti_call_options soon = TUTTI_CALL_OPTIONS_INIT;
        tutti_buffer buffers[GPUS];
        tutti_error error = TUTTI_ERROR_INIT;
        soon.timeout_ms = 1;
        for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, COUNT, place(i));
        atomic_store(&starts_left, 0);
        EXPECT(pthread_create(&first.thread, NULL, call_first, &first) == 0);
        while (atomic_load(&starts_left) > -2) sched_yield(); /* until it has started one, too */
        EXPECT(tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, &soon, NULL, &error) ==
               TUTTI_ERR_TIMEOUT);
        EXPECT(strstr(error.message, "which another thread has made") != NULL);
        for (int i = 0; i < GPUS; ++i) end_buffer(i, &buffers[i]);
    }
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    if (me.rank != 0) call_first(&first);
    if (me.rank == 0) pthread_join(first.thread, NULL);
    EXPECT(first.status == TUTTI_OK);
    for (int i = 0; i < GPUS; ++i) {
        expect_all(i, &first.buffers[i], sum_of_places());
        end_buffer(i, &first.buffers[i]);
    }
    close_group();
}

/* The others are told which of their ranks it was. Last: the world is not whole any more. */
static void a_rank_that_dies_is_named(void) {
    if (me.size == 1) return;
    tutti_buffer buffers[GPUS];
    tutti_work* work = NULL;
    open_group();
    for (int i = 0; i < GPUS; ++i) buffers[i] = buffer_on(i, COUNT, 1);
    OK(tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, NULL, NULL, &me.error));
    /* All have the sums when rank 1 comes out of it, whose death may end it on the others. */
    tutti_status status = tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error);
    if (me.rank == 1) raise(SIGKILL);
    EXPECT(status == TUTTI_OK || status == TUTTI_ERR_PEER_LOST);
    status = tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, NULL, &work, &me.error);
    if (status == TUTTI_OK) status = tutti_work_wait(work, 0, &me.error);
    EXPECT(status == TUTTI_ERR_PEER_LOST);
    EXPECT(me.error.rank == 1);
    EXPECT(strstr(me.error.message, "all_reduce_multigpu on group") != NULL);
    EXPECT(strstr(me.error.message, "of rank 1 here") != NULL);
    tutti_work_release(work);
    EXPECT(tutti_all_reduce_multigpu(me.group, buffers, GPUS, TUTTI_SUM, NULL, NULL, &me.error) ==
           TUTTI_ERR_PEER_LOST);
    close_group();
    printf("named\n");
}

int main(int count, char** arguments) {
    const int skip = without_device();
    if (skip != 0) return skip;
    backend = count > 1 ? arguments[1] : "nccl";
    OK(tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, &me.error));
    me.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    me.size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    device = me.rank * GPUS;
    EXPECT(me.size <= RANKS_AT_MOST && device_count() >= GPUS * me.size);
    open_group();
    a_rank_with_wrong_arguments_is_named();
    ranks_that_differ_in_number_are_told();
    all_buffers_are_added_up();
    an_average_is_that_of_all_buffers();
    every_buffer_is_a_source();
    every_buffer_is_a_destination();
    every_gpu_gathers_all(COUNT);
    every_gpu_gathers_all(0);
    every_gpu_receives_its_part();
    several_are_under_way();
    wrong_arguments_are_named();
    all_buffers_are_added_up();
    close_group();
    groups_come_and_go();
    a_call_behind_the_first_has_its_own_timeout();
    a_rank_that_has_no_thread_left_is_named();
    if (count > 2 && strcmp(arguments[2], "dies") == 0) {
        a_rank_that_dies_is_named();
        return 0;
    }
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error));
    return 0;
}
