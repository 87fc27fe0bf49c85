/* Groups whose ranks may be PyTorch's, here with tutti's ranks alone: what such a group can do,
 * what it refuses, and how it ends without a membership. Public headers only.
 *   peers_test BACKEND    with its settings: "gloo?peers=pytorch" */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/ranks.h"

static const char* backend;

static void reduce_and_split(rank_context* me) {
    const int32_t pair[] = {0, 2}, all[] = {0, 1, 2};
    tutti_group *two = NULL, *three = NULL;
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == 3);
    RANK_OK(me, tutti_new_group(me->group, pair, 2, NULL, NULL, NULL, &two, &me->error));
    RANK_EXPECT(me, (two == TUTTI_GROUP_NON_MEMBER) == (me->rank == 1));
    RANK_OK(me, tutti_new_group(me->group, all, 3, NULL, NULL, NULL, &three, &me->error));
    if (me->rank != 1) RANK_EXPECT(me, rank_sum(me, two, me->rank) == 2);
    RANK_EXPECT(me, rank_sum(me, three, me->rank) == 3);
    tutti_group_release(two);
    tutti_group_release(three);
}

static void groups_are_made_from_the_first_one(void** state) {
    (void)state;
    assert_int_equal(run_ranks(backend, 3, reduce_and_split, NULL), 0);
}

static void ask_for_what_is_not_there(rank_context* me) {
    const int32_t all[] = {0, 1}, other = 1 - me->rank;
    uint64_t flags = 1;
    int16_t small = 1;
    const tutti_buffer shorts = TUTTI_BUFFER_INIT(&small, 1, TUTTI_INT16);
    tutti_bytes* bytes = NULL;
    tutti_group* group = NULL;
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    RANK_STATUS(me, tutti_monitored_barrier(me->group, 0, NULL, &me->error), TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "monitored_barrier on");
    RANK_STATUS(me, tutti_broadcast(me->group, &shorts, 0, NULL, NULL, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "int16; a group of tutti's ranks alone, over \"tcp\", has it");
    RANK_STATUS(
        me,
        me->rank == 0
            ? tutti_broadcast_bytes(me->group, "x", 1, 0, 0, NULL, NULL, NULL, &me->error)
            : tutti_broadcast_bytes(me->group, NULL, 0, 0, 0, NULL, &bytes, NULL, &me->error),
        TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "over \"tcp\", has it");
    options.use_local_synchronization = 1;
    RANK_STATUS(me, tutti_new_group(me->group, all, 2, NULL, NULL, &options, &group, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "all ranks call it");
    RANK_STATUS(me, tutti_new_group(me->group, all, 2, "shm", NULL, NULL, &group, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_STATUS(me, tutti_group_agree(me->group, &flags, 0, &me->error), TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "group_agree on");
    RANK_STATUS(me,
                tutti_shrink_group(me->group, &other, 1, TUTTI_SHRINK_ABORT, NULL, NULL, &group,
                                   &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "shrink_group on");
    RANK_STATUS(me, tutti_group_revoke(me->group, NULL, &me->error), TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "group_revoke on");
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == 2); /* nothing of that has ended the group */
}

static void what_takes_a_membership_is_refused(void** state) {
    (void)state;
    assert_int_equal(run_ranks(backend, 2, ask_for_what_is_not_there, NULL), 0);
}

static void go_away(rank_context* me) {
    float number = 1;
    const tutti_buffer one = TUTTI_BUFFER_INIT(&number, 1, TUTTI_FLOAT32);
    if (me->rank == 1) return; /* it destroys its group */
    RANK_STATUS(me, tutti_recv(me->group, &one, 1, 0, NULL, NULL, NULL, &me->error),
                TUTTI_ERR_PEER_LOST);
    RANK_EXPECT(me, me->error.rank == 1);
    RANK_SAYS(me, "the connection to rank 1 is closed");
}

static void a_connection_that_closes_names_the_rank(void** state) {
    (void)state;
    assert_int_equal(run_ranks(backend, 2, go_away, NULL), 0);
}

/* Only this rank's calls end; the other finds the connection closed when the group goes. */
static void abort_own_calls(rank_context* me) {
    float number = 1;
    const tutti_buffer one = TUTTI_BUFFER_INIT(&number, 1, TUTTI_FLOAT32);
    tutti_work* work = NULL;
    if (me->rank == 0) {
        RANK_STATUS(me, tutti_recv(me->group, &one, 1, 0, NULL, NULL, NULL, &me->error),
                    TUTTI_ERR_PEER_LOST);
        RANK_EXPECT(me, me->error.rank == 1);
        return;
    }
    RANK_OK(me, tutti_recv(me->group, &one, 0, 0, NULL, NULL, &work, &me->error));
    RANK_OK(me, tutti_group_abort(me->group, &me->error));
    const tutti_status status = tutti_work_wait(work, 0, &me->error);
    tutti_work_release(work);
    RANK_EXPECT(me, status == TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "rank 1 aborted the group");
}

static void aborting_ends_the_calls_of_this_rank(void** state) {
    (void)state;
    assert_int_equal(run_ranks(backend, 2, abort_own_calls, NULL), 0);
}

static void groups_with_wrong_options_are_refused(void** state) {
    (void)state;
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    assert_int_equal(tutti_hash_store_create(&store, &error), TUTTI_OK);
    options.reproducible = 1;
    assert_int_equal(tutti_group_create(backend, store, NULL, 0, 2, &options, &group, &error),
                     TUTTI_ERR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "options.reproducible is 1"));
    options.reproducible = 0;
    options.timeout_ms = 50;
    assert_int_equal(tutti_group_create(backend, store, NULL, 0, 2, &options, &group, &error),
                     TUTTI_ERR_TIMEOUT);
    assert_non_null(strstr(error.message, "waiting for the address of rank 1"));
    assert_int_equal(error.rank, 1);
    tutti_store_release(store);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_made_from_the_first_one),
        cmocka_unit_test(what_takes_a_membership_is_refused),
        cmocka_unit_test(a_connection_that_closes_names_the_rank),
        cmocka_unit_test(aborting_ends_the_calls_of_this_rank),
        cmocka_unit_test(groups_with_wrong_options_are_refused),
    };
    if (argc != 2) return 2;
    backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
