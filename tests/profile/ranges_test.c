/* Does a profiler see each call as a range of the thread that calls, and is nothing loaded without
 * one? The recorder (tests/support/nvtx_recorder.c) stands for the profiler. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capi/on_ranks.h"

enum { SIZE = 2, COUNT = 4096 };

static const char* recorder_path;
static int has_recorder;

/* What the recorder offers, if it is loaded. */
static void* find_in_recorder(const char* symbol) {
    void* const loaded = dlopen(recorder_path, RTLD_NOW | RTLD_NOLOAD);
    void* const found = loaded == NULL ? NULL : dlsym(loaded, symbol);
    if (loaded != NULL) dlclose(loaded);
    return found;
}

static const char* take(void) {
    const char* (*ask)(void);
    void* const found = find_in_recorder("nvtx_recorder_take");
    if (found == NULL) return "";
    memcpy(&ask, &found, sizeof found);
    return ask();
}

static int number(const char* symbol) {
    int (*ask)(void);
    void* const found = find_in_recorder(symbol);
    if (found == NULL) return -1;
    memcpy(&ask, &found, sizeof found);
    return ask();
}

/* This thread's ranges since the last time; without a profiler there are none. */
static void expect_ranges(rank_context* me, const char* wanted) {
    const char* const was = take();
    if (strcmp(was, has_recorder ? wanted : "") == 0) return;
    fprintf(stderr, "rank %d has\n%swanted\n%s", (int)me->rank, was, wanted);
    rank_failed(me, __FILE__, __LINE__, "the ranges are others", TUTTI_OK);
}

static void wait_for(rank_context* me, tutti_work* work) {
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
}

static void collectives_are_ranges(rank_context* me) {
    static float memory[SIZE][COUNT];
    tutti_buffer buffer = TUTTI_BUFFER_INIT(memory[me->rank], COUNT, TUTTI_FLOAT32);
    tutti_work* work = NULL;
    take();
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    expect_ranges(me, "+ tutti: barrier on layers\n-\n");
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error));
    expect_ranges(me, "+ tutti: all_reduce 4096 float32 on layers\n-\n");
    RANK_OK(me, tutti_broadcast(me->group, &buffer, 1, NULL, &work, &me->error));
    expect_ranges(me, "+ tutti: broadcast 4096 float32 on layers\n-\n");
    wait_for(me, work);
    expect_ranges(me, "+ tutti: wait for broadcast\n-\n");
}

static void coalesced_calls_are_one_range(rank_context* me) {
    int32_t values[2] = {1, 2};
    const tutti_buffer one = TUTTI_BUFFER_INIT(&values[0], 1, TUTTI_INT32);
    const tutti_buffer other = TUTTI_BUFFER_INIT(&values[1], 1, TUTTI_INT32);
    tutti_group* together = NULL;
    take();
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &together, &me->error));
    RANK_OK(me, tutti_all_reduce(together, NULL, &one, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_OK(me, tutti_broadcast(together, &other, 0, NULL, NULL, &me->error));
    RANK_OK(me, tutti_coalescing_end(together, NULL, NULL, &me->error));
    expect_ranges(me, "+ tutti: coalesced 2 calls on layers\n-\n");
}

static void messages_are_ranges(rank_context* me) {
    int64_t value = me->rank;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    tutti_work* work = NULL;
    take();
    if (me->rank == 0) {
        RANK_OK(me, tutti_send(me->group, &buffer, 1, 5, NULL, NULL, &me->error));
        expect_ranges(me, "+ tutti: send 1 int64 to rank 1 on layers\n-\n");
        RANK_OK(me, tutti_recv(me->group, &buffer, -1, 6, NULL, NULL, &work, &me->error));
        expect_ranges(me, "+ tutti: recv 1 int64 from any rank on layers\n-\n");
        wait_for(me, work);
        expect_ranges(me, "+ tutti: wait for recv\n-\n");
    } else {
        RANK_OK(me, tutti_recv(me->group, &buffer, 0, 5, NULL, NULL, NULL, &me->error));
        expect_ranges(me, "+ tutti: recv 1 int64 from rank 0 on layers\n-\n");
        RANK_OK(me, tutti_send(me->group, &buffer, 0, 6, NULL, &work, &me->error));
        expect_ranges(me, "+ tutti: send 1 int64 to rank 0 on layers\n-\n");
        wait_for(me, work);
        expect_ranges(me, "+ tutti: wait for send\n-\n");
    }
}

static void messages_that_start_together_are_one_range(rank_context* me) {
    int32_t values[2] = {me->rank, -1};
    const int32_t peer = 1 - me->rank;
    tutti_p2p_op ops[2] = {TUTTI_P2P_OP_INIT(TUTTI_ISEND, &values[0], 1, TUTTI_INT32, peer, 0),
                           TUTTI_P2P_OP_INIT(TUTTI_IRECV, &values[1], 1, TUTTI_INT32, peer, 0)};
    tutti_work* works[2] = {NULL, NULL};
    int64_t first = -1;
    take();
    RANK_OK(me, tutti_batch_isend_irecv(me->group, ops, 2, NULL, works, &me->error));
    expect_ranges(me, "+ tutti: batch_isend_irecv 2 messages on layers\n-\n");
    RANK_OK(me, tutti_work_wait_any(works, 2, 0, &first, &me->error));
    RANK_OK(me, tutti_work_wait_all(works, 2, 0, &me->error));
    expect_ranges(me,
                  "+ tutti: wait for any of 2 works\n-\n"
                  "+ tutti: wait for 2 works\n-\n");
    tutti_work_release(works[0]);
    tutti_work_release(works[1]);
}

static void calls_that_fail_are_ranges(rank_context* me) {
    int32_t value = 1;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    tutti_call_options soon = TUTTI_CALL_OPTIONS_INIT;
    soon.timeout_ms = 1;
    take();
    RANK_STATUS(me, tutti_broadcast(me->group, &buffer, SIZE, NULL, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    expect_ranges(me, "");
    RANK_STATUS(me, tutti_recv(me->group, &buffer, 1 - me->rank, 9, &soon, NULL, NULL, &me->error),
                TUTTI_ERR_TIMEOUT);
    expect_ranges(me, me->rank == 0 ? "+ tutti: recv 1 int32 from rank 1 on layers\n-\n"
                                    : "+ tutti: recv 1 int32 from rank 0 on layers\n-\n");
    buffer.count = me->rank; /* the ranks' calls differ */
    const tutti_status failed =
        tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error);
    RANK_EXPECT(me, failed != TUTTI_OK);
    expect_ranges(me, me->rank == 0 ? "+ tutti: all_reduce 0 int32 on layers\n-\n"
                                    : "+ tutti: all_reduce 1 int32 on layers\n-\n");
    RANK_EXPECT(me, tutti_barrier(me->group, NULL, NULL, &me->error) != TUTTI_OK);
    expect_ranges(me, "+ tutti: barrier on layers\n-\n");
}

/* On a group with a name of its own. */
static void on_layers(rank_context* me, rank_function function) {
    tutti_group* const whole = me->group;
    tutti_group* layers = NULL;
    RANK_OK(me, tutti_new_group(whole, NULL, 0, NULL, "layers", NULL, &layers, &me->error));
    me->group = layers;
    function(me);
    me->group = whole;
    (void)tutti_destroy_process_group(layers, NULL, &me->error);
    tutti_group_release(layers);
}

#define LAYERS_TEST(name)                                                    \
    static void name##_of_layers(rank_context* me) {                         \
        on_layers(me, name);                                                 \
    }                                                                        \
    static void name##_test(void** state) {                                  \
        (void)state;                                                         \
        RUN(SIZE, name##_of_layers);                                         \
        if (has_recorder) assert_int_equal(number("nvtx_recorder_open"), 0); \
    }
LAYERS_TEST(collectives_are_ranges)
LAYERS_TEST(coalesced_calls_are_one_range)
LAYERS_TEST(messages_are_ranges)
LAYERS_TEST(messages_that_start_together_are_one_range)
LAYERS_TEST(calls_that_fail_are_ranges)

/* After all calls of the others. */
static void the_library_is_there_or_not(void** state) {
    const int is_loaded = find_in_recorder("nvtx_recorder_take") != NULL;
    (void)state;
    if (has_recorder) assert_true(number("nvtx_recorder_pushed") > 0);
    if (!has_recorder) assert_true(!is_loaded || number("nvtx_recorder_pushed") == 0);
    if (getenv("NVTX_INJECTION64_PATH") == NULL) assert_false(is_loaded);
}

static void nothing_is_loaded_before_the_first_call(void** state) {
    (void)state;
    assert_null(find_in_recorder("nvtx_recorder_take"));
}

/* ranges_test BACKEND RECORDER with|without: without ranges, for one reason or the other. */
int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_loaded_before_the_first_call),
        TEST(collectives_are_ranges_test),
        TEST(coalesced_calls_are_one_range_test),
        TEST(messages_are_ranges_test),
        TEST(messages_that_start_together_are_one_range_test),
        TEST(calls_that_fail_are_ranges_test),
        TEST(the_library_is_there_or_not),
    };
    if (argc != 4) return 2;
    backend = argv[1];
    recorder_path = argv[2];
    has_recorder = strcmp(argv[3], "with") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
