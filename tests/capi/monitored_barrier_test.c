/* A barrier that names who has not come, between ranks that are threads. The first argument is the
 * backend. */
#include "on_ranks.h"

static void pass_barriers(rank_context* me) {
    int* arrived = (int*)me->user;
    for (int round = 1; round <= 30; ++round) {
        __atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
        RANK_OK(me, tutti_monitored_barrier(me->group, round % 2, NULL, &me->error));
        RANK_EXPECT(me, __atomic_load_n(arrived, __ATOMIC_SEQ_CST) >= round * me->size);
    }
}

static void nobody_leaves_before_all_have_come(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 4; ++size) {
        int arrived = 0;
        RUN_WITH(size, pass_barriers, &arrived);
    }
}

/* Ranks 1 and 3 of 4 stay away. */
static void miss_two(rank_context* me) {
    const int32_t wait_all_ranks = *(const int32_t*)me->user;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    if (me->rank % 2 == 1) {
        rank_await(me, "named");
        return;
    }
    if (me->rank == 2) {
        rank_tell(me, "rank 2 comes");
    } else {
        rank_await(me, "rank 2 comes");
        options.timeout_ms = 3000;
    }
    const tutti_status status =
        tutti_monitored_barrier(me->group, wait_all_ranks, &options, &me->error);
    RANK_EXPECT(me, status == (me->rank == 0 ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_ABORTED));
    RANK_EXPECT(me, me->error.rank == 1 && rank_says(me, "monitored_barrier #1"));
    RANK_EXPECT(me,
                rank_says(me, wait_all_ranks ? "ranks 1, 3 failed to pass the monitored barrier in "
                                             : "rank 1 failed to pass the monitored barrier in "));
    if (me->rank == 2) rank_tell(me, "named");
}

static void who_is_missing_is_named_on_all_ranks(void** state) {
    (void)state;
    for (int32_t wait_all_ranks = 0; wait_all_ranks < 2; ++wait_all_ranks) {
        RUN_WITH(4, miss_two, &wait_all_ranks);
    }
}

static void miss_rank_0(rank_context* me) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 100;
    if (me->rank == 0) {
        rank_await(me, "named");
        return;
    }
    RANK_EXPECT(me, tutti_monitored_barrier(me->group, 0, &options, &me->error) != TUTTI_OK);
    RANK_EXPECT(me, me->error.rank == 0 && rank_says(me, "rank 0"));
    if (me->rank == 1) rank_tell(me, "named");
}

static void a_rank_0_that_stays_away_is_named(void** state) {
    (void)state;
    RUN(3, miss_rank_0);
}

static void meet_another_call(rank_context* me) {
    const tutti_status status = me->rank == 0
                                    ? tutti_monitored_barrier(me->group, 0, NULL, &me->error)
                                    : tutti_barrier(me->group, NULL, NULL, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me,
                rank_says(me, "called monitored_barrier #1") && rank_says(me, "called barrier #1"));
}

static void another_call_is_a_mismatch(void** state) {
    (void)state;
    RUN(2, meet_another_call);
}

static void give_no_flag(rank_context* me) {
    RANK_STATUS(me, tutti_monitored_barrier(me->group, 2, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_EXPECT(me, rank_says(me, "wait_all_ranks is 2"));
}

static void a_flag_is_0_or_1(void** state) {
    (void)state;
    RUN(1, give_no_flag);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(nobody_leaves_before_all_have_come),
        TEST(who_is_missing_is_named_on_all_ranks),
        TEST(a_rank_0_that_stays_away_is_named),
        TEST(another_call_is_a_mismatch),
        TEST(a_flag_is_0_or_1),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
