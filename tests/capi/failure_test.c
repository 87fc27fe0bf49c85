/* How calls end that cannot succeed, between ranks that are threads: nothing hangs, everybody is
 * told, and the rank at fault is named. The first argument is the backend. */
#include <stdio.h>

#include "on_ranks.h"

static void wait_for_rank_1(rank_context* me) {
    if (me->rank == 1) {
        rank_await(me, "given up");
        return;
    }
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 30;
    const tutti_status first = tutti_barrier(me->group, &options, NULL, &me->error);
    RANK_EXPECT(me, first == TUTTI_ERR_TIMEOUT);
    RANK_EXPECT(me, rank_says(me, "barrier #1") && rank_says(me, "rank 1"));
    RANK_EXPECT(me, me->error.rank == 1);
    /* The group is lost, for the same reason. */
    RANK_EXPECT(me, tutti_barrier(me->group, NULL, NULL, &me->error) != TUTTI_OK);
    RANK_EXPECT(me, rank_says(me, "rank 1"));
    rank_tell(me, "given up");
}

static void a_rank_that_never_calls_is_named_at_the_timeout(void** state) {
    (void)state;
    RUN(2, wait_for_rank_1);
}

static void time_out_in_the_background(rank_context* me) {
    if (me->rank == 1) {
        rank_await(me, "given up");
        return;
    }
    tutti_work* work = NULL;
    int32_t completed = 0, success = 1;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 30;
    RANK_OK(me, tutti_barrier(me->group, &options, &work, &me->error));
    RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_TIMEOUT);
    RANK_EXPECT(me, rank_says(me, "barrier #1") && rank_says(me, "rank 1"));
    RANK_OK(me, tutti_work_is_completed(work, &completed, &me->error));
    RANK_OK(me, tutti_work_is_success(work, &success, &me->error));
    RANK_EXPECT(me, completed == 1 && success == 0);
    tutti_error_init(&me->error, sizeof me->error);
    RANK_STATUS(me, tutti_work_error(work, &me->error), TUTTI_ERR_TIMEOUT);
    RANK_EXPECT(me, me->error.rank == 1 && rank_says(me, "rank 1"));
    RANK_STATUS(me, tutti_work_wait_all(&work, 1, 0, &me->error), TUTTI_ERR_TIMEOUT);
    tutti_work_release(work);
    rank_tell(me, "given up");
}

static void a_work_ends_at_the_timeout_of_its_call(void** state) {
    (void)state;
    RUN(2, time_out_in_the_background);
}

/* The calls in front of it have no timeout to speak of. The first one waits for rank 1; the turn of
 * the second one may never come. */
static void time_out_behind_another(rank_context* me) {
    if (me->rank == 1) {
        rank_await(me, "given up");
        return;
    }
    tutti_work* works[2] = {NULL};
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 30;
    for (int i = 0; i < 2; ++i) {
        RANK_OK(me, tutti_barrier(me->group, NULL, &works[i], &me->error));
    }
    RANK_STATUS(me, tutti_barrier(me->group, &options, NULL, &me->error), TUTTI_ERR_TIMEOUT);
    RANK_EXPECT(me, rank_says(me, "barrier #3") && rank_says(me, "earlier collectives"));
    for (int i = 0; i < 2; ++i) {
        RANK_STATUS(me, tutti_work_wait(works[i], 0, &me->error), TUTTI_ERR_ABORTED);
        RANK_EXPECT(me, rank_says(me, i == 0 ? "barrier #1" : "barrier #2"));
        RANK_EXPECT(me, rank_says(me, "gave up: barrier #3"));
        tutti_work_release(works[i]);
    }
    rank_tell(me, "given up");
}

static void a_timeout_holds_behind_a_call_in_the_background(void** state) {
    (void)state;
    RUN(2, time_out_behind_another);
}

static void reduce_another_count(rank_context* me) {
    float data[4] = {0};
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, me->rank == 0 ? 3 : 4, TUTTI_FLOAT32);
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "float32 × 3") && rank_says(me, "float32 × 4"));
    RANK_EXPECT(me, rank_says(me, "all_reduce #1"));
}

static void reduce_with_another_op(rank_context* me) {
    float data[4] = {0};
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
    const tutti_reduce_op op = me->rank == 0 ? TUTTI_MIN : TUTTI_MAX;
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "MIN") && rank_says(me, "MAX"));
}

/* The source of a broadcast may be done before anybody has looked at its message: what it calls
 * next tells it then. */
static tutti_status broadcast_and_meet(rank_context* me, int32_t source) {
    float data[4] = {0};
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
    const tutti_status status = tutti_broadcast(me->group, &buffer, source, NULL, NULL, &me->error);
    if (status != TUTTI_OK) return status;
    return tutti_barrier(me->group, NULL, NULL, &me->error);
}

static void call_another_function(rank_context* me) {
    const tutti_status status = me->rank == 0 ? tutti_barrier(me->group, NULL, NULL, &me->error)
                                              : broadcast_and_meet(me, 1);
    RANK_STATUS(me, status, TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "barrier") && rank_says(me, "broadcast"));
}

static void broadcast_from_another_rank(rank_context* me) {
    RANK_STATUS(me, broadcast_and_meet(me, me->rank == 0 ? 0 : 1), TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "root 0") && rank_says(me, "root 1"));
}

/* One that only sends, and its receivers, go on as far as they can while the last rank waits for
 * somebody else. */
static void broadcast_often_from_another_rank(rank_context* me) {
    const int32_t source = me->rank + 1 < me->size ? 0 : 1;
    tutti_status status = TUTTI_OK;
    for (int i = 0; i < 40 && status == TUTTI_OK; ++i) {
        float data[4] = {0};
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
        status = tutti_broadcast(me->group, &buffer, source, NULL, NULL, &me->error);
    }
    RANK_STATUS(me, status, TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "root 0") && rank_says(me, "root 1"));
}

static void counts_and_ops_that_differ_are_a_mismatch_on_every_rank(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) {
        RUN(size, reduce_another_count);
        RUN(size, reduce_with_another_op);
    }
}

static void functions_that_differ_are_a_mismatch_on_every_rank(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, call_another_function);
}

static void sources_that_differ_are_a_mismatch_on_every_rank(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, broadcast_from_another_rank);
    for (int32_t size = 3; size <= 4; ++size) RUN(size, broadcast_often_from_another_rank);
}

static void destroy_while_others_wait(rank_context* me) {
    if (me->rank == 1) {
        rank_await(me, "waiting");
        return; /* and its group is destroyed */
    }
    tutti_work* work = NULL;
    RANK_OK(me, tutti_barrier(me->group, NULL, &work, &me->error));
    if (me->rank == 0) rank_tell(me, "waiting");
    const tutti_status status = tutti_work_wait(work, 0, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_ABORTED || status == TUTTI_ERR_PEER_LOST);
    RANK_EXPECT(me, me->error.rank == 1 && rank_says(me, "rank 1"));
    tutti_work_release(work);
}

static void a_rank_that_destroys_the_group_ends_the_calls_of_the_others(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, destroy_while_others_wait);
}

static void release_while_others_wait(rank_context* me) {
    if (me->rank == 1) {
        rank_await(me, "waiting");
        me->group = NULL; /* it is only released */
        return;
    }
    tutti_work* work = NULL;
    RANK_OK(me, tutti_barrier(me->group, NULL, &work, &me->error));
    if (me->rank == 0) rank_tell(me, "waiting");
    const tutti_status status = tutti_work_wait(work, 0, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_ABORTED || status == TUTTI_ERR_PEER_LOST);
    tutti_work_release(work);
}

static void releasing_a_group_ends_it_like_destroying(void** state) {
    (void)state;
    RUN(2, release_while_others_wait);
    RUN(3, release_while_others_wait);
}

/* A group that cannot end while a reduce function is at work in it. */
typedef struct {
    tutti_store* store;
    const char* at_work;
    tutti_group* group;
    tutti_work* work;
    tutti_reduce_op op;
    int32_t value;
} held_group;

static tutti_status work_until_opened(const void* in, void* inout, int64_t count, tutti_dtype dtype,
                                      void* user, tutti_error* told) {
    held_group* held = (held_group*)user;
    const char* opened = "opened";
    (void)in;
    (void)inout;
    (void)count;
    (void)dtype;
    const tutti_status status = tutti_store_set(held->store, held->at_work, NULL, 0, told);
    if (status != TUTTI_OK) return status;
    return tutti_store_wait(held->store, &opened, 1, NULL, told);
}

static void hold_up(rank_context* me, held_group* held) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&held->value, 1, TUTTI_INT32);
    held->store = me->store;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &held->group, &me->error));
    RANK_OK(me, tutti_reduce_op_create_user("wait", work_until_opened, held, NULL, NULL, &held->op,
                                            &me->error));
    RANK_OK(me,
            tutti_all_reduce(held->group, NULL, &buffer, held->op, NULL, &held->work, &me->error));
    rank_await(me, held->at_work);
}

static void release_behind_groups_that_are_held_up(rank_context* me) {
    held_group held[] = {{NULL, "0 at work", NULL, NULL, 0, 0},
                         {NULL, "1 at work", NULL, NULL, 0, 0},
                         {NULL, "2 at work", NULL, NULL, 0, 0}};
    tutti_group* last = NULL;
    int32_t value = 0;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_status status = TUTTI_OK;
    options.timeout_ms = 20000;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &last, &me->error));
    for (int i = 0; i < 3 && !me->failed; ++i) hold_up(me, &held[i]);
    for (int i = 0; i < 3; ++i) tutti_group_release(held[i].group);
    RANK_OK(me, tutti_store_barrier(me->store, "released", me->size, NULL, &me->error));
    if (me->rank == 0) {
        status = tutti_recv(last, &buffer, 1, 0, &options, NULL, NULL, &me->error);
        rank_tell(me, "opened");
    }
    tutti_group_release(last);
    for (int i = 0; i < 3; ++i) {
        (void)tutti_work_wait(held[i].work, 0, NULL); /* it is done, or its group ended first */
        tutti_work_release(held[i].work);
        tutti_reduce_op_release(held[i].op);
    }
    if (me->rank != 0) return;
    RANK_EXPECT(me, status == TUTTI_ERR_PEER_LOST && me->error.rank == 1 && rank_says(me, "left"));
}

static void a_group_that_is_released_ends_while_others_are_held_up(void** state) {
    (void)state;
    RUN(2, release_behind_groups_that_are_held_up);
}

static void destroy_what_runs(rank_context* me) {
    int32_t value = 0;
    tutti_work *barrier = NULL, *receive = NULL;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    if (me->rank == 0) {
        RANK_OK(me, tutti_barrier(me->group, NULL, &barrier, &me->error));
        RANK_OK(me, tutti_recv(me->group, &buffer, 1, 0, NULL, NULL, &receive, &me->error));
        RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
        RANK_STATUS(me, tutti_work_wait(barrier, 0, &me->error), TUTTI_ERR_ABORTED);
        RANK_STATUS(me, tutti_work_wait(receive, 0, &me->error), TUTTI_ERR_ABORTED);
        RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_INVALID_HANDLE);
        RANK_STATUS(me, tutti_destroy_process_group(me->group, NULL, &me->error),
                    TUTTI_ERR_INVALID_HANDLE);
        RANK_EXPECT(me, tutti_get_rank(me->group) == 0 && tutti_get_world_size(me->group) == 2);
        tutti_work_release(barrier);
        tutti_work_release(receive);
        me->group = NULL;
        rank_tell(me, "destroyed");
    } else {
        rank_await(me, "destroyed");
    }
}

static void destroying_a_group_aborts_what_runs_on_it(void** state) {
    (void)state;
    RUN(2, destroy_what_runs);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(a_rank_that_never_calls_is_named_at_the_timeout),
        TEST(a_work_ends_at_the_timeout_of_its_call),
        TEST(a_timeout_holds_behind_a_call_in_the_background),
        TEST(counts_and_ops_that_differ_are_a_mismatch_on_every_rank),
        TEST(functions_that_differ_are_a_mismatch_on_every_rank),
        TEST(sources_that_differ_are_a_mismatch_on_every_rank),
        TEST(a_rank_that_destroys_the_group_ends_the_calls_of_the_others),
        TEST(releasing_a_group_ends_it_like_destroying),
        TEST(a_group_that_is_released_ends_while_others_are_held_up),
        TEST(destroying_a_group_aborts_what_runs_on_it),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
