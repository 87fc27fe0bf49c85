/* Groups made from groups, ranks as threads, over the backend that the argument names. */
#include <pthread.h>
#include <stdlib.h>

#include "on_ranks.h"

enum { SHORT_MS = 300 };

static tutti_status make(rank_context* me, const int32_t* ranks, size_t count, const char* name,
                         tutti_group** group) {
    tutti_error_init(&me->error, sizeof me->error);
    return tutti_new_group(me->group, ranks, count, NULL, name, NULL, group, &me->error);
}

static void members_work_and_others_are_told_that_they_are_none(rank_context* me) {
    const int32_t chosen[] = {3, 0, 2};
    int32_t ranks[4] = {-7, -7, -7, -7};
    tutti_group* group = NULL;
    RANK_OK(me, make(me, chosen, 3, NULL, &group));
    if (me->rank == 1) {
        RANK_EXPECT(me, group == TUTTI_GROUP_NON_MEMBER);
        RANK_EXPECT(me, tutti_get_rank(group) == -1 && tutti_get_world_size(group) == -1);
        RANK_EXPECT(me, tutti_get_group_rank(group, 0) == -1);
        RANK_EXPECT(me, tutti_get_global_rank(group, 0) == -1);
        RANK_STATUS(me, tutti_barrier(group, NULL, NULL, &me->error), TUTTI_ERR_INVALID_HANDLE);
        RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
        tutti_group_release(group);
        return;
    }
    const int32_t mine = me->rank == 0 ? 0 : me->rank - 1; /* sorted: 0, 2, 3 */
    RANK_EXPECT(me, tutti_get_rank(group) == mine && tutti_get_world_size(group) == 3);
    RANK_EXPECT(me, strcmp(tutti_get_backend(group), backend) == 0);
    RANK_EXPECT(me, tutti_get_group_rank(group, me->rank) == mine);
    RANK_EXPECT(me, tutti_get_group_rank(group, 1) == -1 && tutti_get_group_rank(group, -1) == -1);
    RANK_EXPECT(me, tutti_get_global_rank(group, mine) == me->rank);
    RANK_EXPECT(me,
                tutti_get_global_rank(group, 3) == -1 && tutti_get_global_rank(group, -1) == -1);
    RANK_STATUS(me, tutti_get_process_group_ranks(group, ranks, 2, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_OK(me, tutti_get_process_group_ranks(group, ranks, 4, &me->error));
    RANK_EXPECT(me, ranks[0] == 0 && ranks[1] == 2 && ranks[2] == 3 && ranks[3] == -7);
    RANK_EXPECT(me, rank_sum(me, group, me->rank) == 5);
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    tutti_group_release(group);
}

static void all_ranks_are_the_default(rank_context* me) {
    tutti_group* group = NULL;
    RANK_OK(me, make(me, NULL, 0, "everyone", &group));
    RANK_EXPECT(me, tutti_get_rank(group) == me->rank);
    RANK_EXPECT(me, rank_sum(me, group, 1) == me->size);
    tutti_group_release(group); /* ended in the background */
}

static void groups_of_groups_translate_to_global_ranks(rank_context* me) {
    const int32_t odd[] = {1, 3}, last[] = {1};
    tutti_group *group = NULL, *inner = NULL;
    RANK_OK(me, make(me, odd, 2, "odd", &group));
    if (group == TUTTI_GROUP_NON_MEMBER) return;
    RANK_OK(me, tutti_new_group(group, last, 1, NULL, NULL, NULL, &inner, &me->error));
    RANK_EXPECT(me, (inner == TUTTI_GROUP_NON_MEMBER) == (me->rank == 1));
    if (me->rank == 3) {
        RANK_EXPECT(me, tutti_get_global_rank(inner, 0) == 3);
        RANK_EXPECT(me, rank_sum(me, inner, 9) == 9);
    }
    tutti_group_release(inner);
    RANK_EXPECT(me, rank_sum(me, group, me->rank) == 4);
    tutti_group_release(group);
}

static void a_split_gives_every_rank_its_part(rank_context* me) {
    const int32_t ranks[] = {4, 1, 0, 3};
    const int64_t sizes[] = {2, 1, 1};
    tutti_group* group = NULL;
    RANK_OK(me, tutti_split_group(me->group, ranks, 4, sizes, 3, NULL, NULL, &group, &me->error));
    if (me->rank == 2) {
        RANK_EXPECT(me, group == TUTTI_GROUP_NON_MEMBER);
        return;
    }
    const int32_t partner = me->rank == 4 || me->rank == 1;
    RANK_EXPECT(me, tutti_get_world_size(group) == 1 + partner);
    RANK_EXPECT(me, tutti_get_rank(group) == (me->rank == 4));
    RANK_EXPECT(me, rank_sum(me, group, me->rank) == (partner ? 5 : me->rank));
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    tutti_group_release(group);
}

static void only_members_meet_with_local_synchronization(rank_context* me) {
    const int32_t pair[] = {2, 1};
    tutti_group* group = NULL;
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    options.use_local_synchronization = 1;
    if (me->rank == 0) {
        RANK_STATUS(me,
                    tutti_new_group(me->group, pair, 2, NULL, NULL, &options, &group, &me->error),
                    TUTTI_ERR_INVALID_ARGUMENT);
        return;
    }
    for (int i = 0; i < 3; ++i) {
        RANK_OK(me, tutti_new_group(me->group, pair, 2, NULL, NULL, &options, &group, &me->error));
        RANK_EXPECT(me, rank_sum(me, group, me->rank) == 3);
        tutti_group_release(group);
    }
}

static void different_ranks_are_shown_from_both_sides(rank_context* me) {
    const int32_t ours[] = {0, 1, 2};
    tutti_group* group = NULL;
    RANK_STATUS(me, make(me, ours, me->rank == 2 ? 3 : 2, NULL, &group), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "called new_group with ranks 0, 1");
    RANK_SAYS(me, "called new_group with ranks 0-2");
    RANK_SAYS(me, "rank 2 called");
    RANK_EXPECT(me, group == NULL && me->error.rank >= 0);
    /* The group is as it was. */
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size);
    RANK_OK(me, make(me, ours, 3, NULL, &group));
    tutti_group_release(group);
}

static void different_functions_are_shown_from_both_sides(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2};
    const int64_t sizes[] = {3};
    tutti_group* group = NULL;
    if (me->rank == 1) {
        RANK_STATUS(
            me, tutti_split_group(me->group, ranks, 3, sizes, 1, NULL, NULL, &group, &me->error),
            TUTTI_ERR_MISMATCH);
    } else {
        RANK_STATUS(me, make(me, ranks, 3, NULL, &group), TUTTI_ERR_MISMATCH);
    }
    RANK_SAYS(me, "split_group");
    RANK_SAYS(me, "new_group");
}

static void different_backends_are_shown_from_both_sides(rank_context* me) {
    tutti_group* group = NULL;
    RANK_STATUS(me,
                tutti_new_group(me->group, NULL, 0, me->rank == 0 ? "gloo" : "loopback", NULL, NULL,
                                &group, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "backend gloo");
    RANK_SAYS(me, "backend loopback");
}

static void a_wrong_argument_of_one_rank_fails_all(rank_context* me) {
    const int32_t wrong[] = {0, 7};
    tutti_group* group = NULL;
    const tutti_status wanted = me->rank == 1 ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_MISMATCH;
    RANK_STATUS(me, make(me, wrong, me->rank == 1 ? 2 : 1, NULL, &group), wanted);
    RANK_SAYS(me, "ranks[1] is 7; the group has ranks 0 to 2");
    RANK_OK(me, make(me, wrong, 1, NULL, &group));
    tutti_group_release(group);
}

static void a_rank_that_does_not_come_is_named(rank_context* me) {
    tutti_group* group = NULL;
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    if (me->rank == 2) {
        rank_await(me, "rank 0 gave up");
        rank_await(me, "rank 1 gave up");
    } else {
        options.timeout_ms = SHORT_MS;
    }
    /* A rank that comes late learns that the others have gone. */
    RANK_STATUS(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, &options, &group, &me->error),
                TUTTI_ERR_TIMEOUT);
    RANK_SAYS(me, "new_group on group");
    RANK_SAYS(me, "timed out waiting for rank");
    if (me->rank != 2) rank_tell(me, me->rank == 0 ? "rank 0 gave up" : "rank 1 gave up");
    RANK_OK(me, make(me, NULL, 0, NULL, &group));
    tutti_group_release(group);
}

static void a_rank_that_left_is_named(rank_context* me) {
    tutti_group *group = NULL, *mine = me->group;
    if (me->rank == 2) {
        me->group = NULL;
        RANK_OK(me, tutti_destroy_process_group(mine, NULL, &me->error));
        return;
    }
    RANK_STATUS(me, make(me, NULL, 0, NULL, &group), TUTTI_ERR_PEER_LOST);
    RANK_EXPECT(me, me->error.rank == 2);
    RANK_SAYS(me, "rank 2 left the group");
}

static void errors_call_a_group_by_its_description(rank_context* me) {
    tutti_group *named = NULL, *unnamed = NULL;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    const int32_t pair[] = {1, 2};
    RANK_OK(me, make(me, pair, 2, "the two", &named));
    RANK_OK(me, make(me, pair, 2, NULL, &unnamed));
    if (me->rank == 0) return;
    if (me->rank == 1) {
        options.timeout_ms = SHORT_MS;
        RANK_STATUS(me, tutti_barrier(named, &options, NULL, &me->error), TUTTI_ERR_TIMEOUT);
        RANK_SAYS(me, "group \"the two\" (rank 0 of 2)");
        rank_tell(me, "rank 1 gave up");
    } else {
        rank_await(me, "rank 1 gave up");
        /* Rank 1 has called it: until the news is here, it may succeed. There is no second call. */
        tutti_status status = tutti_barrier(named, &options, NULL, &me->error);
        if (status == TUTTI_OK) status = tutti_barrier(named, &options, NULL, &me->error);
        RANK_STATUS(me, status, TUTTI_ERR_ABORTED);
        RANK_SAYS(me, "rank 0 gave up");
    }
    /* The failure is that group's alone. */
    RANK_EXPECT(me, rank_sum(me, unnamed, 1) == 2);
    RANK_EXPECT(me, tutti_barrier(named, NULL, NULL, NULL) != TUTTI_OK);
    tutti_group_release(named);
    tutti_group_release(unnamed);
}

static void a_failure_of_the_first_group_leaves_the_others_whole(rank_context* me) {
    const int32_t pair[] = {0, 1};
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_group *group = NULL, *inner = NULL;
    RANK_OK(me, make(me, pair, 2, NULL, &group));
    if (me->rank == 2) {
        rank_await(me, "both have failed");
        return;
    }
    options.timeout_ms = SHORT_MS;
    if (me->rank == 1) rank_await(me, "rank 0 has failed");
    RANK_EXPECT(me, tutti_barrier(me->group, &options, NULL, NULL) != TUTTI_OK);
    rank_tell(me, me->rank == 0 ? "rank 0 has failed" : "both have failed");
    RANK_EXPECT(me, rank_sum(me, group, 1) == 2);
    RANK_OK(me, tutti_new_group(group, NULL, 0, NULL, NULL, NULL, &inner, &me->error));
    RANK_EXPECT(me, rank_sum(me, inner, 1) == 2);
    RANK_EXPECT(me, make(me, pair, 2, NULL, &inner) != TUTTI_OK);
    RANK_SAYS(me, "has failed before");
    tutti_group_release(inner);
    tutti_group_release(group);
}

static void a_timeout_is_the_parents_unless_given(rank_context* me) {
    tutti_group* group = NULL;
    const int32_t none = 0;
    RANK_STATUS(me, tutti_group_set_timeout(me->group, 0, &me->error), TUTTI_ERR_INVALID_ARGUMENT);
    RANK_STATUS(me, tutti_group_set_timeout(me->group, -2, &me->error), TUTTI_ERR_INVALID_ARGUMENT);
    RANK_OK(me, make(me, NULL, 0, NULL, &group));
    RANK_OK(me, tutti_group_set_timeout(group, SHORT_MS, &me->error));
    if (me->rank == 0) {
        unsigned char byte = 0;
        tutti_buffer buffer = TUTTI_BUFFER_INIT(&byte, 1, TUTTI_UINT8);
        RANK_STATUS(me, tutti_recv(group, &buffer, 1, none, NULL, NULL, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    tutti_group_release(group);
}

static void the_first_group_takes_all_others_with_it(rank_context* me) {
    const int32_t ranks[] = {0, 1, 2};
    const int64_t sizes[] = {1, 2};
    tutti_group *all = NULL, *part = NULL, *inner = NULL, *mine = me->group;
    RANK_OK(me, make(me, NULL, 0, NULL, &all));
    RANK_OK(me, tutti_split_group(all, ranks, 3, sizes, 2, NULL, NULL, &part, &me->error));
    RANK_OK(me, tutti_new_group(part, NULL, 0, NULL, NULL, NULL, &inner, &me->error));
    /* A group in the middle ends alone. */
    RANK_OK(me, tutti_destroy_process_group(part, NULL, &me->error));
    RANK_OK(me, tutti_barrier(inner, NULL, NULL, &me->error));
    RANK_OK(me, tutti_barrier(all, NULL, NULL, &me->error));
    RANK_OK(me, tutti_destroy_process_group(mine, NULL, &me->error));
    me->group = NULL;
    RANK_STATUS(me, tutti_barrier(inner, NULL, NULL, &me->error), TUTTI_ERR_INVALID_HANDLE);
    RANK_STATUS(me, tutti_destroy_process_group(all, NULL, &me->error), TUTTI_ERR_INVALID_HANDLE);
    tutti_group_release(all);
    tutti_group_release(part);
    tutti_group_release(inner);
}

static void a_group_outlives_the_handle_of_its_parent(rank_context* me) {
    tutti_group *group = NULL, *mine = me->group;
    RANK_OK(me, make(me, NULL, 0, NULL, &group));
    me->group = NULL;
    tutti_group_release(mine);
    RANK_EXPECT(me, rank_sum(me, group, 1) == me->size);
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    tutti_group_release(group);
}

/* The data of a completed send arrive, though the group ends at once. */
static void nothing_sent_is_lost_when_a_group_ends(rank_context* me) {
    enum { COUNT = 100000 };
    const int32_t pair[] = {0, 1};
    tutti_group* group = NULL;
    RANK_OK(me, make(me, pair, 2, NULL, &group));
    if (me->rank < 2) {
        int32_t* numbers = (int32_t*)calloc(COUNT, sizeof *numbers);
        tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, COUNT, TUTTI_INT32);
        for (int i = 0; me->rank == 0 && i < COUNT; ++i) numbers[i] = i;
        if (me->rank == 0) {
            RANK_OK(me, tutti_send(group, &buffer, 1, 0, NULL, NULL, &me->error));
        } else {
            RANK_OK(me, tutti_recv(group, &buffer, 0, 0, NULL, NULL, NULL, &me->error));
        }
        RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
        for (int i = 0; i < COUNT; ++i) RANK_EXPECT(me, numbers[i] == i);
        free(numbers);
    }
    tutti_group_release(group);
}

/* The other backend is met at the store. */
static void a_group_may_use_another_backend(rank_context* me) {
    const char* other = strcmp(backend, "gloo") == 0 ? "loopback" : "gloo";
    tutti_group* group = NULL;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, other, NULL, NULL, &group, &me->error));
    RANK_EXPECT(me, strcmp(tutti_get_backend(group), other) == 0);
    RANK_EXPECT(me, rank_sum(me, group, me->rank) == 3);
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    tutti_group_release(group);
}

/* Each thread of a rank has a group of its own; all work at once. */
typedef struct worker {
    tutti_group* group;
    int64_t wanted;
    int failed;
} worker;

enum { THREADS = 3, ROUNDS = 40 };

static void* work(void* argument) {
    worker* one = (worker*)argument;
    for (int i = 0; i < ROUNDS && !one->failed; ++i) {
        int64_t value = tutti_get_rank(one->group) + i;
        tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
        tutti_error problem = TUTTI_ERROR_INIT;
        if (tutti_all_reduce(one->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &problem)) {
            print_error("%s\n", problem.message);
            one->failed = 1;
        }
        one->failed |= value != one->wanted + (int64_t)i * tutti_get_world_size(one->group);
    }
    return NULL;
}

static void several_groups_work_at_once(rank_context* me) {
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        workers[i].wanted = me->size * (me->size - 1) / 2;
        workers[i].failed = 0;
        RANK_OK(me, make(me, NULL, 0, NULL, &workers[i].group));
    }
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
        me->failed |= workers[i].failed;
        tutti_group_release(workers[i].group);
    }
}

RANK_TEST(members_work_and_others_are_told_that_they_are_none, 4)
RANK_TEST(all_ranks_are_the_default, 3)
RANK_TEST(groups_of_groups_translate_to_global_ranks, 4)
RANK_TEST(a_split_gives_every_rank_its_part, 5)
RANK_TEST(only_members_meet_with_local_synchronization, 3)
RANK_TEST(different_ranks_are_shown_from_both_sides, 3)
RANK_TEST(different_functions_are_shown_from_both_sides, 3)
RANK_TEST(different_backends_are_shown_from_both_sides, 2)
RANK_TEST(a_wrong_argument_of_one_rank_fails_all, 3)
RANK_TEST(a_rank_that_does_not_come_is_named, 3)
RANK_TEST(a_rank_that_left_is_named, 3)
RANK_TEST(errors_call_a_group_by_its_description, 3)
RANK_TEST(a_failure_of_the_first_group_leaves_the_others_whole, 3)
RANK_TEST(a_timeout_is_the_parents_unless_given, 2)
RANK_TEST(the_first_group_takes_all_others_with_it, 3)
RANK_TEST(a_group_outlives_the_handle_of_its_parent, 2)
RANK_TEST(nothing_sent_is_lost_when_a_group_ends, 3)
RANK_TEST(a_group_may_use_another_backend, 3)
RANK_TEST(several_groups_work_at_once, 3)

static void wrong_arguments_are_refused(void** state) {
    (void)state;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    const int32_t twice[] = {0, 0}, negative[] = {-1}, none = 0;
    const int64_t one = 1, two = 2;
    tutti_store* store = NULL;
    tutti_group *all = NULL, *group = NULL;
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_group_create(backend, store, NULL, 0, 1, NULL, &all, &error));
    EXPECT_ERROR(tutti_new_group(all, twice, 2, NULL, NULL, NULL, &group, &error), bad,
                 "tutti_new_group: ranks[1] is 0, which is ranks[0] too");
    EXPECT_ERROR(tutti_new_group(all, negative, 1, NULL, NULL, NULL, &group, &error), bad,
                 "ranks[0] is -1");
    EXPECT_ERROR(tutti_new_group(all, NULL, 1, NULL, NULL, NULL, &group, &error), bad,
                 "ranks is NULL but count is 1");
    EXPECT_ERROR(tutti_new_group(all, twice, 0, NULL, NULL, NULL, &group, &error), bad,
                 "count is 0");
    EXPECT_ERROR(tutti_new_group(all, NULL, 0, "telegraph", NULL, NULL, &group, &error),
                 TUTTI_ERR_UNSUPPORTED, "tutti_new_group: backend is \"telegraph\"");
    EXPECT_ERROR(tutti_new_group(all, NULL, 0, NULL, NULL, NULL, NULL, &error), bad,
                 "out_group is NULL");
    options.use_local_synchronization = 2;
    EXPECT_ERROR(tutti_new_group(all, NULL, 0, NULL, NULL, &options, &group, &error), bad,
                 "use_local_synchronization is 2");
    options.use_local_synchronization = 1;
    EXPECT_ERROR(tutti_split_group(all, &none, 1, &one, 1, NULL, &options, &group, &error), bad,
                 "use_local_synchronization");
    options.use_local_synchronization = 0;
    options.timeout_ms = -2;
    EXPECT_ERROR(tutti_new_group(all, NULL, 0, NULL, NULL, &options, &group, &error), bad,
                 "options.timeout_ms is -2");
    EXPECT_ERROR(tutti_split_group(all, twice, 2, &two, 1, NULL, NULL, &group, &error), bad,
                 "sizes[0] is 2");
    EXPECT_ERROR(tutti_split_group(all, &none, 1, &one, 0, NULL, NULL, &group, &error), bad,
                 "split_count is 0");
    EXPECT_ERROR(tutti_split_group(all, NULL, 1, &one, 1, NULL, NULL, &group, &error), bad,
                 "ranks is NULL");
    EXPECT_ERROR(tutti_split_group(all, &none, 1, NULL, 1, NULL, NULL, &group, &error), bad,
                 "sizes is NULL");
    EXPECT_ERROR(tutti_split_group(all, &none, 2, &one, 1, NULL, NULL, &group, &error), bad,
                 "count is 2, and the sizes of the new groups sum up to 1");
    EXPECT_ERROR(tutti_split_group(all, &none, -1, &one, 1, NULL, NULL, &group, &error), bad,
                 "count is -1");
    assert_null(group);
    /* None of them left anything behind. */
    int64_t keys = -1;
    EXPECT_OK(tutti_store_num_keys(store, &keys, &error));
    assert_int_equal(keys, 0);
    EXPECT_OK(tutti_new_group(all, NULL, 0, NULL, NULL, NULL, &group, &error));
    EXPECT_OK(tutti_store_num_keys(store, &keys, &error));
    assert_int_equal(keys, 0);
    tutti_group_release(group);
    tutti_group_release(all);
    tutti_store_release(store);
}

static void the_default_group_counts_its_groups(void** state) {
    (void)state;
    tutti_store* store = NULL;
    tutti_group* groups[2] = {NULL, NULL};
    assert_int_equal(tutti_get_pg_count(), 0);
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    for (int life = 0; life < 2; ++life) {
        EXPECT_OK(tutti_init_process_group_with_store(backend, store, NULL, 0, 1, NULL, &error));
        assert_int_equal(tutti_get_pg_count(), 1);
        for (int i = 0; i < 2; ++i) {
            EXPECT_OK(
                tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, NULL, NULL, &groups[i], &error));
        }
        assert_int_equal(tutti_get_pg_count(), 3);
        EXPECT_OK(tutti_destroy_process_group(groups[0], NULL, &error));
        assert_int_equal(tutti_get_pg_count(), 2);
        EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
        assert_int_equal(tutti_get_pg_count(), 0);
        EXPECT_ERROR(tutti_barrier(groups[1], NULL, NULL, &error), TUTTI_ERR_INVALID_HANDLE,
                     "world/2");
        for (int i = 0; i < 2; ++i) tutti_group_release(groups[i]);
    }
    tutti_store_release(store);
}

static void facts_are_told_as_torch_tells_them(void** state) {
    (void)state;
    assert_string_equal(tutti_get_default_backend_for_device("cpu"), "gloo");
    assert_string_equal(tutti_get_default_backend_for_device("cpu:0"), "gloo");
    assert_string_equal(tutti_get_default_backend_for_device("cuda:12"), "nccl");
    assert_string_equal(tutti_get_default_backend_for_device("xpu"), "xccl");
    assert_null(tutti_get_default_backend_for_device("cpu:"));
    assert_null(tutti_get_default_backend_for_device("cpu:x"));
    assert_null(tutti_get_default_backend_for_device("abacus"));
    assert_null(tutti_get_default_backend_for_device(NULL));
    (void)unsetenv("TORCHELASTIC_RUN_ID");
    assert_int_equal(tutti_is_torchelastic_launched(), 0);
    (void)setenv("TORCHELASTIC_RUN_ID", "none", 1);
    assert_int_equal(tutti_is_torchelastic_launched(), 1);
    (void)unsetenv("TORCHELASTIC_RUN_ID");
}

int main(int count, char** arguments) {
    if (count > 1) backend = arguments[1];
    /* A busy machine must not look like a stopped rank. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const struct CMUnitTest tests[] = {
        TEST(members_work_and_others_are_told_that_they_are_none_on_ranks),
        TEST(all_ranks_are_the_default_on_ranks),
        TEST(groups_of_groups_translate_to_global_ranks_on_ranks),
        TEST(a_split_gives_every_rank_its_part_on_ranks),
        TEST(only_members_meet_with_local_synchronization_on_ranks),
        TEST(different_ranks_are_shown_from_both_sides_on_ranks),
        TEST(different_functions_are_shown_from_both_sides_on_ranks),
        TEST(different_backends_are_shown_from_both_sides_on_ranks),
        TEST(a_wrong_argument_of_one_rank_fails_all_on_ranks),
        TEST(a_rank_that_does_not_come_is_named_on_ranks),
        TEST(a_rank_that_left_is_named_on_ranks),
        TEST(errors_call_a_group_by_its_description_on_ranks),
        TEST(a_failure_of_the_first_group_leaves_the_others_whole_on_ranks),
        TEST(a_timeout_is_the_parents_unless_given_on_ranks),
        TEST(the_first_group_takes_all_others_with_it_on_ranks),
        TEST(a_group_outlives_the_handle_of_its_parent_on_ranks),
        TEST(nothing_sent_is_lost_when_a_group_ends_on_ranks),
        TEST(a_group_may_use_another_backend_on_ranks),
        TEST(several_groups_work_at_once_on_ranks),
        TEST(wrong_arguments_are_refused),
        TEST(the_default_group_counts_its_groups),
        TEST(facts_are_told_as_torch_tells_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
