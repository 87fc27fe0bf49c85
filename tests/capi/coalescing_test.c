/* Collectives that are collected on a handle and issued as one, between ranks that are threads. The
 * first argument is the backend. */
#include "on_ranks.h"

enum { MOST_RANKS = 4, CALLS = 50 };

static tutti_status add_one(tutti_group* group, int64_t* value, tutti_error* failure) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(value, 1, TUTTI_INT64);
    return tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, failure);
}

/* A failure shows in the first call on what it returns. */
static tutti_group* begin(rank_context* me) {
    tutti_group* coalescing = NULL;
    (void)tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error);
    return coalescing;
}

static void collect_and_issue(rank_context* me) {
    for (int background = 0; background < 2; ++background) {
        int64_t values[CALLS];
        tutti_work* work = NULL;
        tutti_group* const coalescing = begin(me);
        for (int i = 0; i < CALLS; ++i) {
            values[i] = me->rank + i;
            RANK_OK(me, add_one(coalescing, &values[i], &me->error));
            RANK_EXPECT(me, values[i] == me->rank + i); /* nothing has happened yet */
        }
        RANK_OK(me, tutti_coalescing_end(coalescing, NULL, background ? &work : NULL, &me->error));
        if (background) {
            RANK_OK(me, tutti_work_wait(work, 0, &me->error));
            tutti_work_release(work);
        }
        for (int i = 0; i < CALLS; ++i) {
            RANK_EXPECT(me, values[i] == me->size * (me->size - 1) / 2 + me->size * i);
        }
        RANK_STATUS(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error),
                    TUTTI_ERR_INVALID_HANDLE);
    }
}

static void collected_calls_are_done_at_the_end(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, collect_and_issue);
}

/* A thread's call on the group between another thread's begin and end is done when it returns:
 * the handle alone collects. */
static void call_the_group_meanwhile(rank_context* me) {
    int64_t later = 1, now = 1;
    tutti_group* const coalescing = begin(me);
    tutti_group* const second = begin(me);
    RANK_OK(me, add_one(coalescing, &later, &me->error));
    RANK_OK(me, add_one(me->group, &now, &me->error));
    RANK_EXPECT(me, now == me->size && later == 1);
    RANK_OK(me, add_one(second, &now, &me->error));
    RANK_OK(me, tutti_coalescing_end(second, NULL, NULL, &me->error));
    RANK_EXPECT(me, now == me->size * me->size && later == 1);
    RANK_OK(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error));
    RANK_EXPECT(me, later == me->size);
}

static void the_group_itself_works_as_ever(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, call_the_group_meanwhile);
}

static void collect_all_kinds(rank_context* me) {
    int64_t sum = 1, told = me->rank == 0 ? 42 : 0, mine = me->rank, parts[MOST_RANKS];
    int64_t given[MOST_RANKS] = {1, 2, 3, 4}, part = 0;
    const tutti_buffer one = TUTTI_BUFFER_INIT(&told, 1, TUTTI_INT64);
    const tutti_buffer input = TUTTI_BUFFER_INIT(&mine, 1, TUTTI_INT64);
    const tutti_buffer row = TUTTI_BUFFER_INIT(parts, me->size, TUTTI_INT64);
    const tutti_buffer pieces = TUTTI_BUFFER_INIT(given, me->size, TUTTI_INT64);
    const tutti_buffer piece = TUTTI_BUFFER_INIT(&part, 1, TUTTI_INT64);
    tutti_group* const coalescing = begin(me);
    RANK_OK(me, tutti_broadcast(coalescing, &one, 0, NULL, NULL, &me->error));
    RANK_OK(me, tutti_barrier(coalescing, NULL, NULL, &me->error));
    RANK_OK(me, tutti_all_gather_into_tensor(coalescing, &input, &row, NULL, NULL, &me->error));
    RANK_OK(me, tutti_reduce_scatter_tensor(coalescing, &pieces, &piece, TUTTI_SUM, NULL, NULL,
                                            &me->error));
    RANK_OK(me, add_one(coalescing, &sum, &me->error));
    RANK_OK(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error));
    RANK_EXPECT(me, told == 42 && sum == me->size && part == me->size * (me->rank + 1));
    for (int32_t rank = 0; rank < me->size; ++rank) RANK_EXPECT(me, parts[rank] == rank);
}

static void calls_of_any_kind_are_collected(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, collect_all_kinds);
}

static void collect_nothing(rank_context* me) {
    tutti_work* work = NULL;
    int32_t completed = 0;
    RANK_OK(me, tutti_coalescing_end(begin(me), NULL, NULL, &me->error));
    RANK_OK(me, tutti_coalescing_end(begin(me), NULL, &work, &me->error));
    RANK_OK(me, tutti_work_is_completed(work, &completed, &me->error));
    RANK_EXPECT(me, completed == 1);
    tutti_work_release(work);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void nothing_can_be_issued_as_one(void** state) {
    (void)state;
    RUN(2, collect_nothing);
}

static void collect_what_cannot_be(rank_context* me) {
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT, no_handle = TUTTI_ERR_INVALID_HANDLE;
    int64_t values[4] = {1, 1, 1, 1};
    const tutti_buffer pair = TUTTI_BUFFER_INIT(values, 2, TUTTI_INT64);
    const tutti_buffer shifted = TUTTI_BUFFER_INIT(values + 1, 2, TUTTI_INT64);
    tutti_work* work = NULL;
    tutti_call_options hurried = TUTTI_CALL_OPTIONS_INIT;
    tutti_coalescing_options elsewhere = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_group *coalescing = NULL, *inner = NULL;
    hurried.timeout_ms = 5;
    elsewhere.device_type = TUTTI_CUDA;
    RANK_STATUS(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error), no_handle);
    RANK_EXPECT(me, rank_says(me, "coalescing is a handle of kind group, not coalescing"));
    RANK_STATUS(me, tutti_coalescing_begin(me->group, &elsewhere, &coalescing, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_EXPECT(me, rank_says(me, "options.device_type is 1 (cuda)"));
    RANK_STATUS(me, tutti_coalescing_begin(me->group, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "out_coalescing is NULL"));
    coalescing = begin(me);
    RANK_EXPECT(me, tutti_get_rank(coalescing) == me->rank);
    RANK_EXPECT(me, tutti_get_world_size(coalescing) == me->size);
    RANK_STATUS(me, tutti_coalescing_begin(coalescing, NULL, &inner, &me->error), no_handle);
    RANK_STATUS(me, tutti_send(coalescing, &pair, 0, 0, NULL, &work, &me->error), no_handle);
    RANK_EXPECT(me, rank_says(me, "group is a handle of kind coalescing, not group"));
    RANK_STATUS(me, tutti_destroy_process_group(coalescing, NULL, &me->error), no_handle);
    RANK_STATUS(me, tutti_barrier(coalescing, NULL, &work, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "work must be NULL") && work == NULL);
    RANK_STATUS(me, tutti_barrier(coalescing, &hurried, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "options.timeout_ms"));
    RANK_STATUS(me, tutti_monitored_barrier(coalescing, 0, NULL, &me->error), no_handle);
    RANK_STATUS(me, tutti_broadcast(coalescing, &pair, 9, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "group_src is 9"));
    RANK_OK(me, tutti_all_reduce(coalescing, NULL, &pair, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_STATUS(me, tutti_broadcast(coalescing, &shifted, 0, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "overlaps the memory of an earlier call"));
    /* A refused call is not among those that are done; an end whose arguments are refused is none.
     * */
    hurried.timeout_ms = -2;
    RANK_STATUS(me, tutti_coalescing_end(coalescing, &hurried, NULL, &me->error), bad);
    RANK_OK(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error));
    RANK_EXPECT(me, values[0] == me->size && values[1] == me->size && values[2] == 1);
}

static void what_cannot_be_collected_is_refused(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, collect_what_cannot_be);
}

static void collect_different_calls(rank_context* me) {
    int64_t values[2] = {1, 1};
    tutti_group* const coalescing = begin(me);
    RANK_OK(me, add_one(coalescing, &values[0], &me->error));
    if (me->rank == 1) RANK_OK(me, add_one(coalescing, &values[1], &me->error));
    RANK_STATUS(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error), TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "coalesced #1") && rank_says(me, "layout"));
}

static void collect_calls_that_differ_in_the_second(rank_context* me) {
    int64_t values[2] = {1, 1};
    const tutti_buffer second = TUTTI_BUFFER_INIT(&values[1], 1, TUTTI_INT64);
    tutti_group* const coalescing = begin(me);
    RANK_OK(me, add_one(coalescing, &values[0], &me->error));
    RANK_OK(me, tutti_all_reduce(coalescing, NULL, &second, me->rank == 1 ? TUTTI_MAX : TUTTI_SUM,
                                 NULL, NULL, &me->error));
    RANK_STATUS(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error), TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "rank 0 called") && rank_says(me, "rank 1 called"));
    RANK_SAYS(me, "they differ in a list: of counts, or of coalesced calls");
}

static void ranks_that_collected_different_calls_are_told(void** state) {
    (void)state;
    RUN(2, collect_different_calls);
    RUN(2, collect_calls_that_differ_in_the_second);
}

/* A handle that is released, and a group that ends, drop the calls that nobody issued. */
static void drop_calls(rank_context* me) {
    int64_t value = me->rank;
    tutti_group* const dropped = begin(me);
    RANK_OK(me, add_one(dropped, &value, &me->error));
    tutti_group_release(dropped);
    RANK_STATUS(me, add_one(dropped, &value, &me->error), TUTTI_ERR_INVALID_HANDLE);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    RANK_EXPECT(me, value == me->rank);
    tutti_group* const late = begin(me);
    RANK_OK(me, add_one(late, &value, &me->error));
    RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
    RANK_STATUS(me, tutti_coalescing_end(late, NULL, NULL, &me->error), TUTTI_ERR_INVALID_HANDLE);
    RANK_EXPECT(me, rank_says(me, "was destroyed") && value == me->rank);
    me->group = NULL;
}

static void calls_that_nobody_issues_are_dropped(void** state) {
    (void)state;
    RUN(2, drop_calls);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(collected_calls_are_done_at_the_end),
        TEST(the_group_itself_works_as_ever),
        TEST(calls_of_any_kind_are_collected),
        TEST(nothing_can_be_issued_as_one),
        TEST(what_cannot_be_collected_is_refused),
        TEST(ranks_that_collected_different_calls_are_told),
        TEST(calls_that_nobody_issues_are_dropped),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
