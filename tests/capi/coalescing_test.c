/* Collectives that are gathered and issued as one, between ranks that are threads. The first
 * argument is the backend. */
#include "on_ranks.h"

enum { MOST_RANKS = 4, CALLS = 50 };

static tutti_status add_one(rank_context* me, int64_t* value) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(value, 1, TUTTI_INT64);
    return tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error);
}

static void gather_and_issue(rank_context* me) {
    for (int background = 0; background < 2; ++background) {
        int64_t values[CALLS];
        tutti_work* work = NULL;
        RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
        for (int i = 0; i < CALLS; ++i) {
            values[i] = me->rank + i;
            RANK_OK(me, add_one(me, &values[i]));
            RANK_EXPECT(me, values[i] == me->rank + i); /* nothing has happened yet */
        }
        RANK_OK(me, tutti_coalescing_end(me->group, NULL, background ? &work : NULL, &me->error));
        if (background) {
            RANK_OK(me, tutti_work_wait(work, 0, &me->error));
            tutti_work_release(work);
        }
        for (int i = 0; i < CALLS; ++i) {
            RANK_EXPECT(me, values[i] == me->size * (me->size - 1) / 2 + me->size * i);
        }
    }
}

static void calls_between_begin_and_end_are_done_at_the_end(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, gather_and_issue);
}

static void gather_all_kinds(rank_context* me) {
    int64_t sum = 1, told = me->rank == 0 ? 42 : 0, mine = me->rank, parts[MOST_RANKS];
    int64_t given[MOST_RANKS] = {1, 2, 3, 4}, part = 0;
    const tutti_buffer one = TUTTI_BUFFER_INIT(&told, 1, TUTTI_INT64);
    const tutti_buffer input = TUTTI_BUFFER_INIT(&mine, 1, TUTTI_INT64);
    const tutti_buffer row = TUTTI_BUFFER_INIT(parts, me->size, TUTTI_INT64);
    const tutti_buffer pieces = TUTTI_BUFFER_INIT(given, me->size, TUTTI_INT64);
    const tutti_buffer piece = TUTTI_BUFFER_INIT(&part, 1, TUTTI_INT64);
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_OK(me, tutti_broadcast(me->group, &one, 0, NULL, NULL, &me->error));
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    RANK_OK(me, tutti_all_gather_into_tensor(me->group, &input, &row, NULL, NULL, &me->error));
    RANK_OK(me, tutti_reduce_scatter_tensor(me->group, &pieces, &piece, TUTTI_SUM, NULL, NULL,
                                            &me->error));
    RANK_OK(me, add_one(me, &sum));
    RANK_OK(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error));
    RANK_EXPECT(me, told == 42 && sum == me->size && part == me->size * (me->rank + 1));
    for (int32_t rank = 0; rank < me->size; ++rank) RANK_EXPECT(me, parts[rank] == rank);
    RANK_OK(me, add_one(me, &sum)); /* at once again */
    RANK_EXPECT(me, sum == me->size * me->size);
}

static void calls_of_any_kind_are_gathered(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, gather_all_kinds);
}

static void gather_nothing(rank_context* me) {
    tutti_work* work = NULL;
    int32_t completed = 0;
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_OK(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error));
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_OK(me, tutti_coalescing_end(me->group, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_is_completed(work, &completed, &me->error));
    RANK_EXPECT(me, completed == 1);
    tutti_work_release(work);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void nothing_can_be_issued_as_one(void** state) {
    (void)state;
    RUN(2, gather_nothing);
}

static void gather_what_cannot_be(rank_context* me) {
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    int64_t values[4] = {1, 1, 1, 1};
    const tutti_buffer pair = TUTTI_BUFFER_INIT(values, 2, TUTTI_INT64);
    const tutti_buffer shifted = TUTTI_BUFFER_INIT(values + 1, 2, TUTTI_INT64);
    tutti_work* work = NULL;
    tutti_call_options hurried = TUTTI_CALL_OPTIONS_INIT;
    hurried.timeout_ms = 5;
    RANK_STATUS(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "tutti_coalescing_end") && rank_says(me, "not being gathered"));
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_STATUS(me, tutti_coalescing_begin(me->group, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "already"));
    RANK_STATUS(me, tutti_barrier(me->group, NULL, &work, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "work must be NULL") && work == NULL);
    RANK_STATUS(me, tutti_barrier(me->group, &hurried, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "options.timeout_ms"));
    RANK_STATUS(me, tutti_monitored_barrier(me->group, 0, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "monitored_barrier"));
    RANK_STATUS(me, tutti_broadcast(me->group, &pair, 9, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "group_src is 9"));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &pair, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_STATUS(me, tutti_broadcast(me->group, &shifted, 0, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, rank_says(me, "overlaps the memory of a call gathered before"));
    /* What was refused is not among what is done. */
    RANK_OK(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error));
    RANK_EXPECT(me, values[0] == me->size && values[1] == me->size && values[2] == 1);
}

static void what_cannot_be_gathered_is_refused(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, gather_what_cannot_be);
}

static void gather_different_calls(rank_context* me) {
    int64_t values[2] = {1, 1};
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_OK(me, add_one(me, &values[0]));
    if (me->rank == 1) RANK_OK(me, add_one(me, &values[1]));
    RANK_STATUS(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error), TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "coalesced #1") && rank_says(me, "layout"));
}

static void gather_calls_that_differ_in_the_second(rank_context* me) {
    int64_t values[2] = {1, 1};
    const tutti_buffer second = TUTTI_BUFFER_INIT(&values[1], 1, TUTTI_INT64);
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_OK(me, add_one(me, &values[0]));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &second, me->rank == 1 ? TUTTI_MAX : TUTTI_SUM,
                                 NULL, NULL, &me->error));
    RANK_STATUS(me, tutti_coalescing_end(me->group, NULL, NULL, &me->error), TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "rank 0 called") && rank_says(me, "rank 1 called"));
    RANK_SAYS(me, "they differ in a list: of counts, or of gathered calls");
}

static void ranks_that_gathered_different_calls_are_told(void** state) {
    (void)state;
    RUN(2, gather_different_calls);
    RUN(2, gather_calls_that_differ_in_the_second);
}

/* Messages go their way, and a group can be destroyed with calls that nobody issued. */
static void leave_calls_behind(rank_context* me) {
    int64_t value = me->rank, other = -1;
    const tutti_buffer mine = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    const tutti_buffer theirs = TUTTI_BUFFER_INIT(&other, 1, TUTTI_INT64);
    RANK_OK(me, tutti_coalescing_begin(me->group, &me->error));
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    if (me->rank == 0) {
        RANK_OK(me, tutti_send(me->group, &mine, 1, 0, NULL, NULL, &me->error));
    } else {
        RANK_OK(me, tutti_recv(me->group, &theirs, 0, 0, NULL, NULL, NULL, &me->error));
        RANK_EXPECT(me, other == 0);
    }
}

static void messages_are_not_gathered(void** state) {
    (void)state;
    RUN(2, leave_calls_behind);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(calls_between_begin_and_end_are_done_at_the_end),
        TEST(calls_of_any_kind_are_gathered),
        TEST(nothing_can_be_issued_as_one),
        TEST(what_cannot_be_gathered_is_refused),
        TEST(ranks_that_gathered_different_calls_are_told),
        TEST(messages_are_not_gathered),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
