/* The step of ranks before every collective under the debug level DETAIL. Ranks are threads. The
 * first argument is the backend. */
#include "on_ranks.h"

/* Until every rank has what it waits for: else a rank that leaves is the news. */
static void stay(rank_context* me) {
    RANK_OK(me, tutti_store_barrier(me->store, "stay", me->size, NULL, &me->error));
}

static void call_things_that_differ(rank_context* me) {
    float data[4] = {1, 1, 1, 1};
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, me->rank == 3 ? 3 : 4, TUTTI_FLOAT32);
    const tutti_status status =
        me->rank == 1
            ? tutti_broadcast(me->group, &buffer, 2, NULL, NULL, &me->error)
            : tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error);
    RANK_STATUS(me, status, TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, me->error.rank == 1);
    RANK_SAYS(me,
              "rank 1 called broadcast #1 (float32 × 4, root 2), rank 3 called "
              "all_reduce #1 (float32 × 3, SUM) while ranks 0, 2, 4 called "
              "all_reduce #1 (float32 × 4, SUM)");
    for (int i = 0; i < 4; ++i) RANK_EXPECT(me, data[i] == 1);
    stay(me);
}

static void every_rank_is_shown_who_called_what_and_no_data_move(void** state) {
    (void)state;
    RUN(5, call_things_that_differ);
}

/* Ranks 1 and 3 stay away from what rank 2 could do without them. Rank 0 runs out of patience once
 * rank 2 is in the call. */
static void miss_two(rank_context* me) {
    float value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 3000;
    if (me->rank == 0) {
        rank_await(me, "rank 2 calls");
        RANK_STATUS(me, tutti_broadcast(me->group, &buffer, 0, &options, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
    } else if (me->rank == 2) {
        tutti_work* work = NULL;
        RANK_OK(me, tutti_broadcast(me->group, &buffer, 0, NULL, &work, &me->error));
        rank_tell(me, "rank 2 calls");
        RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_ABORTED);
        tutti_work_release(work);
    }
    if (me->rank % 2 == 0) {
        RANK_SAYS(me, "broadcast #1");
        RANK_SAYS(me, "ranks 1, 3 did not call it in 3000 ms");
    }
    stay(me);
}

static void ranks_that_do_not_call_are_all_named(void** state) {
    (void)state;
    RUN(4, miss_two);
}

/* Rank 1 stays away, and rank 0 has time. */
static void run_out_of_time(rank_context* me) {
    float value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 100;
    if (me->rank == 0) {
        tutti_work* work = NULL;
        RANK_OK(me, tutti_broadcast(me->group, &buffer, 0, NULL, &work, &me->error));
        rank_tell(me, "rank 0 calls");
        RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_ABORTED);
        RANK_SAYS(me, "rank 2 gave up");
        tutti_work_release(work);
    } else if (me->rank == 2) {
        rank_await(me, "rank 0 calls");
        RANK_STATUS(me, tutti_broadcast(me->group, &buffer, 0, &options, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
    }
    if (me->rank != 1) RANK_SAYS(me, "rank 1 did not call it in 100 ms");
    stay(me);
}

static void whoever_is_out_of_time_first_says_who_is_missing(void** state) {
    (void)state;
    RUN(3, run_out_of_time);
}

static tutti_status keep(const void* in, void* inout, int64_t count, tutti_dtype dtype, void* user,
                         tutti_error* told) {
    (void)told;
    (void)in, (void)inout, (void)count, (void)dtype, (void)user;
    return TUTTI_OK;
}

/* Matching calls pass: everything that is a collective, in groups made later, too. */
static void call_the_same(rank_context* me) {
    int32_t values[3] = {me->rank, 1, 2};
    tutti_reduce_op op = 0;
    tutti_group* inner = NULL;
    tutti_work* work = NULL;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, 3, TUTTI_INT32);
    RANK_OK(me, tutti_reduce_op_create_user("keep", keep, NULL, NULL, NULL, &op, &me->error));
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &inner, &me->error));
    for (int round = 0; round < 20; ++round) {
        RANK_OK(me, tutti_barrier(inner, NULL, NULL, &me->error));
        RANK_OK(me, tutti_broadcast(inner, &buffer, round % me->size, NULL, &work, &me->error));
        RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        tutti_work_release(work);
        tutti_group* coalescing = NULL;
        RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
        RANK_OK(me, tutti_all_reduce(coalescing, NULL, &buffer, TUTTI_MAX, NULL, NULL, &me->error));
        RANK_OK(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error));
        RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error));
        RANK_OK(me, tutti_monitored_barrier(inner, 1, NULL, &me->error));
    }
    tutti_reduce_op_release(op);
    tutti_group_release(inner);
}

static void what_is_the_same_passes(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 4; ++size) RUN(size, call_the_same);
}

/* The level of a group is that of when it was made. */
static void change_the_level(rank_context* me) {
    float value = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, me->rank == 0 ? 1 : 0, TUTTI_FLOAT32);
    RANK_OK(me, tutti_set_debug_level(TUTTI_DEBUG_OFF, &me->error));
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(
        me, rank_says(me, "rank 1 called all_reduce #1 (float32 × 0, SUM) while rank 0 called"));
    stay(me);
    RANK_OK(me, tutti_set_debug_level(TUTTI_DEBUG_DETAIL, &me->error));
}

static void a_group_keeps_the_level_it_was_made_with(void** state) {
    (void)state;
    RUN(2, change_the_level);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(every_rank_is_shown_who_called_what_and_no_data_move),
        TEST(ranks_that_do_not_call_are_all_named),
        TEST(whoever_is_out_of_time_first_says_who_is_missing),
        TEST(what_is_the_same_passes),
        TEST(a_group_keeps_the_level_it_was_made_with),
    };
    if (argc > 1) backend = argv[1];
    if (tutti_set_debug_level(TUTTI_DEBUG_DETAIL, NULL)) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
