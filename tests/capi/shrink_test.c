/* tutti/failure.h between ranks that are threads, none of which dies: shrinking, agreeing,
 * revoking, aborting, and the work of a failure. The first argument is the backend. */
#include <pthread.h>

#include "on_ranks.h"
#include "support/sanitizers.h"

enum { SHORT_MS = 200 };

static tutti_status shrink(rank_context* me, const int32_t* excluded, int64_t count, uint32_t flags,
                           tutti_group** group) {
    tutti_error_init(&me->error, sizeof me->error);
    return tutti_shrink_group(me->group, excluded, count, flags, NULL, NULL, group, &me->error);
}

/* How a work has ended, once it has. */
static tutti_status end_of(rank_context* me, tutti_work* work) {
    const tutti_status status = tutti_work_wait(work, 0, &me->error);
    tutti_work_release(work);
    return status;
}

/* Returns when all ranks have made their group: what ends it then ends no making. */
static void await_all(rank_context* me) {
    static const char* const there[] = {"0 is there", "1 is there", "2 is there", "3 is there"};
    rank_tell(me, there[me->rank]);
    for (int32_t rank = 0; rank < me->size; ++rank) rank_await(me, there[rank]);
}

static void refuse_arguments(rank_context* me) {
    const int32_t other = 1 - me->rank, twice[] = {other, other}, none = 2;
    const tutti_group* untouched = (tutti_group*)me;
    tutti_group* group = (tutti_group*)me;
    tutti_shrink_options options = TUTTI_SHRINK_OPTIONS_INIT;
    uint64_t flags = 5;
    RANK_REFUSES(me, shrink(me, &other, 1, 0, NULL), "out_group is NULL");
    RANK_REFUSES(me, shrink(me, NULL, 2, 0, &group), "ranks_to_exclude is NULL but count is 2");
    RANK_REFUSES(me, shrink(me, &other, -1, 0, &group), "count is -1");
    RANK_REFUSES(me, shrink(me, &me->rank, 1, 0, &group), "ranks_to_exclude has this rank");
    RANK_REFUSES(me, shrink(me, twice, 2, 0, &group), "which is ranks_to_exclude[0] too");
    RANK_REFUSES(me, shrink(me, &none, 1, 0, &group), "ranks_to_exclude[0] is 2");
    RANK_REFUSES(me, shrink(me, &other, 1, 2, &group), "shrink_flags is 2");
    options.min_size = 3;
    RANK_REFUSES(me,
                 tutti_shrink_group(me->group, &other, 1, 0, NULL, &options, &group, &me->error),
                 "options.min_size is 3");
    options.min_size = 0;
    options.timeout_ms = -5;
    RANK_REFUSES(me,
                 tutti_shrink_group(me->group, &other, 1, 0, NULL, &options, &group, &me->error),
                 "timeout_ms is -5");
    RANK_REFUSES(me, tutti_group_agree(me->group, NULL, 0, &me->error), "flags is NULL");
    RANK_REFUSES(me, tutti_group_agree(me->group, &flags, -5, &me->error), "timeout_ms is -5");
    RANK_REFUSES(me, tutti_group_failure(me->group, NULL, &me->error), "out_work is NULL");
    /* What all ranks see together. */
    RANK_REFUSES(me, shrink(me, NULL, 0, 0, &group), "no rank is lost, none is to be excluded");
    RANK_REFUSES(me, shrink(me, &other, 0, TUTTI_SHRINK_DEFAULT, &group), "no rank is lost");
    RANK_EXPECT(me, group == untouched && flags == 5);
    RANK_EXPECT(me, rank_sum(me, me->group, me->rank) == 1);
}

static void arguments_are_refused_and_the_group_goes_on(void** state) {
    (void)state;
    RUN(2, refuse_arguments);
}

static void no_member_is_refused(void** state) {
    (void)state;
    uint64_t flags = 1;
    tutti_group* group = NULL;
    tutti_work* work = NULL;
    EXPECT_ERROR(tutti_shrink_group(TUTTI_GROUP_NON_MEMBER, NULL, 0, 0, NULL, NULL, &group, &error),
                 TUTTI_ERR_INVALID_HANDLE, "shrink_group");
    EXPECT_ERROR(tutti_group_agree(TUTTI_GROUP_NON_MEMBER, &flags, 0, &error),
                 TUTTI_ERR_INVALID_HANDLE, "agree");
    EXPECT_ERROR(tutti_group_revoke(TUTTI_GROUP_NON_MEMBER, NULL, &error), TUTTI_ERR_INVALID_HANDLE,
                 "revoke");
    EXPECT_ERROR(tutti_group_abort(TUTTI_GROUP_NON_MEMBER, &error), TUTTI_ERR_INVALID_HANDLE,
                 "abort");
    EXPECT_ERROR(tutti_group_failure(TUTTI_GROUP_NON_MEMBER, &work, &error),
                 TUTTI_ERR_INVALID_HANDLE, "failure");
    assert_true(group == NULL && work == NULL && flags == 1);
}

static void agree_on_flags(rank_context* me) {
    uint64_t flags = UINT64_C(0x8000000000000007) & ~(UINT64_C(1) << me->rank);
    RANK_OK(me, tutti_group_agree(me->group, &flags, 0, &me->error));
    RANK_EXPECT(me, flags == UINT64_C(0x8000000000000000));
    flags = ~UINT64_C(0);
    RANK_OK(me, tutti_group_agree(me->group, &flags, TUTTI_NO_TIMEOUT, &me->error));
    RANK_EXPECT(me, flags == ~UINT64_C(0));
    RANK_OK(me, tutti_group_revoke(me->group, NULL, &me->error)); /* by all of them */
    flags = me->rank == 1 ? 2 : 6;
    RANK_OK(me, tutti_group_agree(me->group, &flags, 0, &me->error));
    RANK_EXPECT(me, flags == 2);
}

static void ranks_agree_on_the_flags_of_all_also_after_a_failure(void** state) {
    (void)state;
    RUN(3, agree_on_flags);
}

static void go_on_without_rank_1(rank_context* me) {
    const int32_t excluded = 1;
    tutti_group *three = NULL, *pair = NULL;
    int32_t members[3] = {-1, -1, -1};
    await_all(me);
    if (me->rank == 1) {
        RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_ABORTED);
        RANK_SAYS(me, "has shrunk the group");
        uint64_t flags = 1;
        for (int call = 0; call < 2; ++call) { /* it waits for nobody */
            RANK_STATUS(me, shrink(me, NULL, 0, 0, &three), TUTTI_ERR_ABORTED);
            RANK_STATUS(me, tutti_group_agree(me->group, &flags, 0, &me->error), TUTTI_ERR_ABORTED);
        }
        return;
    }
    RANK_OK(me, shrink(me, &excluded, 1, TUTTI_SHRINK_DEFAULT, &three));
    RANK_EXPECT(me, tutti_get_world_size(three) == 3);
    RANK_EXPECT(me, tutti_get_rank(three) == (me->rank == 0 ? 0 : me->rank - 1));
    RANK_EXPECT(me, strcmp(tutti_get_backend(three), backend) == 0);
    RANK_OK(me, tutti_get_process_group_ranks(three, members, 3, &me->error));
    RANK_EXPECT(me, members[0] == 0 && members[1] == 2 && members[2] == 3);
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_ABORTED);
    uint64_t flags = 1;
    RANK_STATUS(me, tutti_group_agree(me->group, &flags, 0, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "has shrunk the group");
    RANK_EXPECT(me, rank_sum(me, three, me->rank) == 5);
    /* It is a group like any other. */
    tutti_group* inner = NULL;
    RANK_OK(me, tutti_new_group(three, NULL, 0, NULL, NULL, NULL, &inner, &me->error));
    RANK_EXPECT(me, rank_sum(me, inner, 1) == 3);
    tutti_group_release(inner);
    const int32_t first = 0;
    if (me->rank != 0) {
        RANK_OK(me, tutti_shrink_group(three, &first, 1, 0, "the rest", NULL, &pair, &me->error));
        tutti_bytes* name = NULL;
        RANK_OK(me, tutti_group_get_name(pair, &name, &me->error));
        RANK_EXPECT(me, strstr((const char*)tutti_bytes_data(name), "the rest") != NULL);
        tutti_bytes_release(name);
        RANK_EXPECT(me, rank_sum(me, pair, me->rank) == 5);
        RANK_OK(me, tutti_destroy_process_group(pair, NULL, &me->error));
        tutti_group_release(pair);
    } else {
        RANK_STATUS(me, tutti_barrier(three, NULL, NULL, &me->error), TUTTI_ERR_ABORTED);
    }
    RANK_OK(me, tutti_destroy_process_group(three, NULL, &me->error));
    tutti_group_release(three);
}

static void those_that_are_not_excluded_go_on_in_a_new_group(void** state) {
    (void)state;
    RUN(4, go_on_without_rank_1);
}

static void end_calls_first(rank_context* me) {
    const int32_t excluded = 2;
    tutti_group* pair = NULL;
    tutti_work* work = NULL;
    await_all(me);
    if (me->rank == 2) {
        RANK_OK(me, tutti_group_failure(me->group, &work, &me->error));
        RANK_STATUS(me, end_of(me, work), TUTTI_ERR_ABORTED);
        return;
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, &work, &me->error)); /* rank 2 does not call it */
    RANK_OK(me, shrink(me, &excluded, 1, TUTTI_SHRINK_ABORT, &pair));
    RANK_STATUS(me, end_of(me, work), TUTTI_ERR_ABORTED);
    RANK_EXPECT(me, rank_sum(me, pair, 1) == 2);
    tutti_group_release(pair);
}

static void running_calls_can_be_ended_first(void** state) {
    (void)state;
    RUN(3, end_calls_first);
}

static void revoke(rank_context* me) {
    tutti_group* again = NULL;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_group_failure(me->group, &work, &me->error));
    await_all(me);
    if (me->rank == 2) {
        int32_t completed = 1;
        RANK_OK(me, tutti_work_is_completed(work, &completed, &me->error));
        RANK_EXPECT(me, completed == 0);
        RANK_OK(me, tutti_group_revoke(me->group, "the loss is no number", &me->error));
        RANK_OK(me, tutti_group_revoke(me->group, "once more", &me->error));
    }
    RANK_STATUS(me, end_of(me, work), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "rank 2 revoked the group: the loss is no number");
    RANK_EXPECT(me, me->error.rank == 2);
    RANK_STATUS(me, tutti_barrier(me->group, NULL, NULL, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "the loss is no number");
    RANK_OK(me, tutti_group_failure(me->group, &work, &me->error)); /* which has ended */
    RANK_STATUS(me, tutti_work_error(work, &me->error), TUTTI_ERR_ABORTED);
    tutti_work_release(work);
    RANK_OK(me, shrink(me, NULL, 0, 0, &again));
    RANK_EXPECT(me, tutti_get_world_size(again) == 3 && tutti_get_rank(again) == me->rank);
    RANK_EXPECT(me, rank_sum(me, again, me->rank) == 3);
    tutti_group_release(again);
}

static void revoking_ends_the_group_everywhere_and_all_can_go_on(void** state) {
    (void)state;
    RUN(3, revoke);
}

static void abort_own_calls(rank_context* me) {
    tutti_work *work = NULL, *failure = NULL;
    RANK_OK(me, tutti_group_failure(me->group, &failure, &me->error));
    await_all(me);
    if (me->rank == 0) {
        float data = 0;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&data, 1, TUTTI_FLOAT32);
        RANK_OK(me, tutti_recv(me->group, &buffer, 1, 0, NULL, NULL, &work, &me->error));
        RANK_OK(me, tutti_group_abort(me->group, &me->error));
        RANK_OK(me, tutti_group_abort(me->group, &me->error));
        RANK_STATUS(me, end_of(me, work), TUTTI_ERR_ABORTED);
    }
    RANK_STATUS(me, end_of(me, failure), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "rank 0 aborted the group");
}

static void aborting_ends_the_calls_of_this_rank(void** state) {
    (void)state;
    RUN(2, abort_own_calls);
}

static void destroy_what_is_watched(rank_context* me) {
    tutti_group* part = NULL;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &part, &me->error));
    RANK_OK(me, tutti_group_failure(part, &work, &me->error));
    RANK_OK(me, tutti_barrier(part, NULL, NULL, &me->error));
    RANK_OK(me, tutti_destroy_process_group(part, NULL, &me->error));
    RANK_STATUS(me, end_of(me, work), TUTTI_ERR_ABORTED);
    tutti_group_release(part);
}

static void a_work_of_failure_ends_with_its_group(void** state) {
    (void)state;
    RUN(2, destroy_what_is_watched);
}

static void ask_for_too_many(rank_context* me) {
    const int32_t excluded = 2;
    tutti_group* group = NULL;
    tutti_shrink_options options = TUTTI_SHRINK_OPTIONS_INIT;
    await_all(me);
    if (me->rank == 2) {
        rank_await(me, "shrunk");
        return;
    }
    options.min_size = me->rank == 1 ? 3 : 0; /* the highest counts */
    RANK_STATUS(me,
                tutti_shrink_group(me->group, &excluded, 1, 0, NULL, &options, &group, &me->error),
                TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "only 2 ranks are left, and options.min_size is 3");
    RANK_EXPECT(me, group == NULL);
    options.min_size = 2;
    RANK_OK(me, tutti_shrink_group(me->group, &excluded, 1, 0, NULL, &options, &group, &me->error));
    RANK_EXPECT(me, rank_sum(me, group, 1) == 2);
    tutti_group_release(group);
    if (me->rank == 0) rank_tell(me, "shrunk");
}

static void too_few_ranks_make_no_group_and_may_try_again(void** state) {
    (void)state;
    RUN(3, ask_for_too_many);
}

static void exclude_different_ranks(rank_context* me) {
    const int32_t excluded = me->rank == 0 ? 2 : 3;
    tutti_group* group = NULL;
    await_all(me);
    if (me->rank < 2) {
        RANK_STATUS(me, shrink(me, &excluded, 1, 0, &group), TUTTI_ERR_MISMATCH);
        RANK_SAYS(me, "rank 1 excludes 3 while rank 0 excludes 2");
        RANK_EXPECT(me, group == NULL && me->error.rank == 1);
        rank_tell(me, me->rank == 0 ? "0 has seen" : "1 has seen");
    }
    rank_await(me, "0 has seen"); /* those that have left may be excluded by some */
    rank_await(me, "1 has seen");
    RANK_OK(me, tutti_group_revoke(me->group, NULL, &me->error));
}

static void exclude_who_has_left(rank_context* me) {
    const int32_t both[] = {2, 3};
    tutti_group *four = NULL, *pair = NULL;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &four, &me->error));
    if (me->rank > 1) {
        RANK_OK(me, tutti_destroy_process_group(four, NULL, &me->error));
        rank_tell(me, me->rank == 2 ? "2 has left" : "3 has left");
    } else {
        rank_await(me, "2 has left");
        rank_await(me, "3 has left");
        /* Rank 0 excludes none, and rank 1 rank 2. */
        RANK_OK(me, tutti_shrink_group(four, both, me->rank, TUTTI_SHRINK_ABORT, NULL, NULL, &pair,
                                       &me->error));
        RANK_EXPECT(me, rank_sum(me, pair, 1) == 2);
        tutti_group_release(pair);
    }
    tutti_group_release(four);
}

static void ranks_that_are_not_there_may_be_excluded_by_some(void** state) {
    (void)state;
    RUN(4, exclude_who_has_left);
}

static void decline_agreement(rank_context* me) {
    uint64_t flags = 7;
    tutti_group* group = NULL;
    if (me->rank == 1) {
        RANK_REFUSES(me, tutti_group_agree(me->group, NULL, 0, &me->error), "flags is NULL");
        RANK_REFUSES(me, shrink(me, &me->rank, 1, 0, &group), "this rank");
    } else {
        RANK_STATUS(me, tutti_group_agree(me->group, &flags, 0, &me->error), TUTTI_ERR_MISMATCH);
        RANK_SAYS(me, "rank 1 called group_agree with an argument that was refused: flags is NULL");
        RANK_EXPECT(me, me->error.rank == 1);
        RANK_STATUS(me, shrink(me, NULL, 0, 0, &group), TUTTI_ERR_MISMATCH);
        RANK_SAYS(me, "rank 1 called shrink_group with an argument that was refused");
    }
    RANK_OK(me, tutti_group_agree(me->group, &flags, 0, &me->error));
    RANK_EXPECT(me, flags == 7 && group == NULL);
}

static void an_argument_of_one_rank_that_is_refused_fails_the_others_calls(void** state) {
    (void)state;
    RUN(2, decline_agreement);
}

static tutti_group* shared;

static void* shrink_shared(void* unused) {
    tutti_group* group = NULL;
    if (tutti_shrink_group(shared, NULL, 0, TUTTI_SHRINK_ABORT, NULL, NULL, &group, NULL) ==
        TUTTI_OK)
        tutti_group_release(group);
    return unused;
}

static void* destroy_shared(void* unused) {
    tutti_destroy_process_group(shared, NULL, NULL);
    return unused;
}

static void a_group_can_be_shrunk_while_another_thread_destroys_it(void** state) {
    (void)state;
    for (int turn = 0; turn < (SANITIZED ? 50 : 300); ++turn) {
        tutti_store* store = NULL;
        pthread_t shrinks, destroys;
        EXPECT_OK(tutti_hash_store_create(&store, &error));
        EXPECT_OK(tutti_group_create(backend, store, NULL, 0, 1, NULL, &shared, &error));
        assert_int_equal(pthread_create(&shrinks, NULL, shrink_shared, NULL), 0);
        assert_int_equal(pthread_create(&destroys, NULL, destroy_shared, NULL), 0);
        pthread_join(shrinks, NULL);
        pthread_join(destroys, NULL);
        tutti_group_release(shared);
        tutti_store_release(store);
    }
}

static void call_different_functions(rank_context* me) {
    uint64_t flags = 1;
    tutti_group* group = NULL;
    RANK_STATUS(me,
                me->rank == 0 ? tutti_group_agree(me->group, &flags, 0, &me->error)
                              : shrink(me, NULL, 0, 0, &group),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, rank_says(me, "group_agree") && rank_says(me, "shrink_group"));
    RANK_EXPECT(me, flags == 1 && group == NULL);
}

static void different_calls_are_mismatches(void** state) {
    (void)state;
    RUN(4, exclude_different_ranks);
    RUN(2, call_different_functions);
}

static void wait_in_vain(rank_context* me) {
    uint64_t flags = 1;
    if (me->rank == 1) {
        rank_await(me, "given up");
        return;
    }
    RANK_STATUS(me, tutti_group_agree(me->group, &flags, SHORT_MS, &me->error), TUTTI_ERR_TIMEOUT);
    RANK_EXPECT(me, rank_says(me, "rank 1") && me->error.rank == 1);
    RANK_EXPECT(me, flags == 1);
    rank_tell(me, "given up");
}

static void a_rank_that_does_not_call_is_named_at_the_timeout(void** state) {
    (void)state;
    RUN(2, wait_in_vain);
}

static void the_default_group_is_the_new_one_afterwards(void** state) {
    (void)state;
    tutti_store* store = NULL;
    tutti_group *group = NULL, *before = NULL;
    tutti_work* work = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_init_process_group_with_store(backend, store, NULL, 0, 1, NULL, &error));
    EXPECT_OK(tutti_group_retain(TUTTI_GROUP_WORLD, &before, &error));
    EXPECT_ERROR(tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, 0, NULL, NULL, &group, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "out_group is not NULL");
    EXPECT_ERROR(tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, 0, NULL, NULL, NULL, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "no rank is lost");
    EXPECT_OK(tutti_group_revoke(TUTTI_GROUP_WORLD, "to try it", &error));
    EXPECT_OK(tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, 0, "again", NULL, NULL, &error));
    assert_int_equal(tutti_is_initialized(), 1);
    assert_int_equal(tutti_get_pg_count(), 1);
    assert_int_equal(tutti_get_rank(TUTTI_GROUP_WORLD), 0);
    assert_int_equal(tutti_get_world_size(TUTTI_GROUP_WORLD), 1);
    EXPECT_OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error));
    assert_true(tutti_barrier(before, NULL, NULL, &error) != TUTTI_OK);
    tutti_group_release(before);
    EXPECT_OK(tutti_group_failure(TUTTI_GROUP_WORLD, &work, &error));
    EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    EXPECT_ERROR(tutti_work_wait(work, 0, &error), TUTTI_ERR_ABORTED, "");
    tutti_work_release(work);
    tutti_store_release(store);
}

int main(int count, char** arguments) {
    if (count > 1) backend = arguments[1];
    const struct CMUnitTest tests[] = {
        TEST(arguments_are_refused_and_the_group_goes_on),
        TEST(no_member_is_refused),
        TEST(ranks_agree_on_the_flags_of_all_also_after_a_failure),
        TEST(those_that_are_not_excluded_go_on_in_a_new_group),
        TEST(running_calls_can_be_ended_first),
        TEST(revoking_ends_the_group_everywhere_and_all_can_go_on),
        TEST(aborting_ends_the_calls_of_this_rank),
        TEST(a_work_of_failure_ends_with_its_group),
        TEST(too_few_ranks_make_no_group_and_may_try_again),
        TEST(different_calls_are_mismatches),
        TEST(ranks_that_are_not_there_may_be_excluded_by_some),
        TEST(an_argument_of_one_rank_that_is_refused_fails_the_others_calls),
        TEST(a_group_can_be_shrunk_while_another_thread_destroys_it),
        TEST(a_rank_that_does_not_call_is_named_at_the_timeout),
        TEST(the_default_group_is_the_new_one_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
