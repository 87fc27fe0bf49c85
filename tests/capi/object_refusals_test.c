/* Objects and bytes that do not go well together, between ranks that are threads. The first
 * argument is the backend. */
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"
#include "sized_objects.h"

/* Rank 1 sends a list that is deeper than rank 0 takes; both go on. */
static void refuse_what_cannot_be_read(rank_context* me) {
    tutti_object *mine = NULL, *got[2] = {NULL, NULL};
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_object_create(&mine, &me->error));
    for (int32_t i = 0; i <= 2 * me->rank; ++i) {
        RANK_OK(me, tutti_object_begin_list(mine, &me->error));
    }
    for (int32_t i = 0; i <= 2 * me->rank; ++i) RANK_OK(me, tutti_object_end(mine, &me->error));
    if (me->rank == 0) options.max_depth = 2;
    if (me->rank == 0) {
        RANK_STATUS(
            me, tutti_all_gather_object(me->group, mine, &options, NULL, got, 2, NULL, &me->error),
            TUTTI_ERR_MISMATCH);
        RANK_EXPECT(me, me->error.rank == 1);
        RANK_EXPECT(me, strstr(me->error.message, "all_gather_object on group") != NULL);
        RANK_EXPECT(me, strstr(me->error.message, "rank 1 sent what cannot be read") != NULL);
        RANK_EXPECT(me,
                    strstr(me->error.message, "at byte 2, lists and maps are more than 2") != NULL);
        RANK_EXPECT(me, got[0] == NULL && got[1] == NULL);
    } else {
        RANK_OK(me,
                tutti_all_gather_object(me->group, mine, &options, NULL, got, 2, NULL, &me->error));
        tutti_object_release(got[0]);
        tutti_object_release(got[1]);
    }
    got[0] = got[1] = NULL;
    RANK_OK(me,
            tutti_all_gather_object(me->group, mine, &options, NULL, NULL, 0, &work, &me->error));
    RANK_STATUS(me, tutti_work_wait(work, 0, &me->error),
                me->rank == 0 ? TUTTI_ERR_MISMATCH : TUTTI_OK);
    RANK_STATUS(me, tutti_work_take_objects(work, got, 2, &me->error),
                me->rank == 0 ? TUTTI_ERR_MISMATCH : TUTTI_OK);
    tutti_work_release(work);
    for (int32_t i = 0; me->rank == 1 && i < 2; ++i) tutti_object_release(got[i]);
    RANK_EXPECT(me, me->rank == 1 || (got[0] == NULL && got[1] == NULL));
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    tutti_object_release(mine);
}

static void what_cannot_be_read_names_the_sender_and_the_group_goes_on(void** state) {
    (void)state;
    RUN(2, refuse_what_cannot_be_read);
}

/* Rank 0 gives two objects, the others expect none, one and three. */
static void broadcast_another_count(rank_context* me) {
    static const int64_t counts[] = {2, 0, 1, 3};
    const int here = me->rank == 0;
    const int64_t count = counts[me->rank];
    tutti_object *given[2] = {object_of(0, 10), object_of(1, 10)}, *got[3] = {NULL, NULL, NULL};
    for (int round = 0; round < 2; ++round) {
        tutti_work* work = NULL;
        tutti_status status = tutti_broadcast_object_list(
            me->group, here ? given : NULL, count, 0, NULL, NULL, here || round == 1 ? NULL : got,
            round == 0 ? NULL : &work, &me->error);
        if (round == 1) {
            RANK_OK(me, status);
            status = tutti_work_wait(work, 0, &me->error);
            tutti_work_release(work);
        }
        RANK_STATUS(me, status, here ? TUTTI_OK : TUTTI_ERR_MISMATCH);
        if (here) continue;
        RANK_EXPECT(me, me->error.rank == 0 && got[0] == NULL);
        RANK_EXPECT(me, strstr(me->error.message, "there are 2 objects, and ") != NULL);
    }
    RANK_OK(me, tutti_broadcast_object_list(me->group, here ? given : NULL, 2, 0, NULL, NULL,
                                            here ? NULL : got, NULL, &me->error));
    for (int32_t i = 0; i < 2; ++i) {
        RANK_EXPECT(me, here || is_object_of(got[i], i, 10));
        tutti_object_release(given[i]);
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void another_count_is_told_and_the_group_goes_on(void** state) {
    (void)state;
    RUN(4, broadcast_another_count);
}

static void send_too_much(rank_context* me) {
    static const char data[100000] = {0};
    tutti_bytes* got[2] = {NULL, NULL};
    RANK_STATUS(me,
                tutti_all_gather_bytes(me->group, data, me->rank == 1 ? sizeof data : 5, 1000, NULL,
                                       got, 2, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, got[0] == NULL && got[1] == NULL);
    RANK_EXPECT(me, strstr(me->error.message, "all_gather_bytes #") != NULL);
    RANK_EXPECT(me, strstr(me->error.message,
                           "rank 1 sends 100000 bytes, and the limit of rank 0 is 1000") != NULL);
}

/* Rank 3 has it from rank 2, which passes on what rank 0 gave. */
static void broadcast_too_much_for_the_last(rank_context* me) {
    static const char data[5000] = {0};
    const int here = me->rank == 0;
    tutti_bytes* got = NULL;
    const tutti_status status =
        tutti_broadcast_bytes(me->group, here ? data : NULL, here ? sizeof data : 0, 0,
                              me->rank == 3 ? 4999 : 0, NULL, here ? NULL : &got, NULL, &me->error);
    RANK_EXPECT(me, here || status != TUTTI_OK || is_bytes_of(got, 0, sizeof data));
    if (me->rank == 3) {
        RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH && me->error.rank == 0);
        RANK_SAYS(me, "rank 0 sends 5000 bytes, and the limit of rank 3 is 4999");
    }
}

static void more_than_the_limit_is_refused_before_memory_is_taken(void** state) {
    (void)state;
    RUN(2, send_too_much);
}

static void the_rank_that_broadcasts_more_than_the_limit_is_named(void** state) {
    (void)state;
    RUN(4, broadcast_too_much_for_the_last);
}

static void call_different_things(rank_context* me) {
    tutti_object *mine = object_of(me->rank, 10), *got[2] = {NULL, NULL};
    tutti_bytes* bytes[2] = {NULL, NULL};
    const tutti_status status =
        me->rank == 0
            ? tutti_all_gather_object(me->group, mine, NULL, NULL, got, 2, NULL, &me->error)
            : tutti_all_gather_bytes(me->group, "x", 1, 0, NULL, bytes, 2, NULL, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, strstr(me->error.message, "all_gather_object #") != NULL);
    RANK_EXPECT(me, strstr(me->error.message, "all_gather_bytes #") != NULL);
    tutti_object_release(mine);
}

static void ranks_that_call_different_things_are_told(void** state) {
    (void)state;
    RUN(2, call_different_things);
}

static void give_wrong_arguments(rank_context* me) {
    tutti_object *mine = object_of(me->rank, 10), *open = NULL, *got[2] = {NULL, NULL};
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    tutti_bytes* bytes = NULL;
    RANK_OK(me, tutti_object_create(&open, &me->error));
    RANK_REFUSES(me, tutti_all_gather_object(me->group, mine, NULL, NULL, got, 3, NULL, &me->error),
                 "out_count is 3, but the group has 2 ranks");
    RANK_REFUSES(me,
                 tutti_all_gather_object(me->group, mine, NULL, NULL, NULL, 2, NULL, &me->error),
                 "out_objects is NULL");
    RANK_REFUSES(me, tutti_all_gather_object(me->group, open, NULL, NULL, got, 2, NULL, &me->error),
                 "object is not finished");
    options.max_bytes = 5;
    RANK_REFUSES(me,
                 tutti_all_gather_object(me->group, mine, &options, NULL, got, 2, NULL, &me->error),
                 "the value takes 14 bytes, and the limit is 5");
    RANK_REFUSES(me, tutti_gather_object(me->group, mine, 2, NULL, NULL, got, 2, NULL, &me->error),
                 "group_dst is 2, but the group's ranks are 0 to 1");
    RANK_REFUSES(
        me,
        tutti_gather_object(me->group, mine, 1 - me->rank, NULL, NULL, got, 2, NULL, &me->error),
        "out_objects must be NULL");
    RANK_REFUSES(me,
                 tutti_broadcast_object_list(me->group, got, 1, 1 - me->rank, NULL, NULL, got, NULL,
                                             &me->error),
                 "objects must be NULL");
    RANK_REFUSES(
        me,
        tutti_scatter_object_list(me->group, &mine, 1, me->rank, NULL, NULL, got, NULL, &me->error),
        "object_count is 1, but the group has 2 ranks");
    RANK_REFUSES(
        me, tutti_broadcast_bytes(me->group, NULL, 1, me->rank, 0, NULL, NULL, NULL, &me->error),
        "data is NULL but its size is 1");
    RANK_REFUSES(
        me,
        tutti_broadcast_bytes(me->group, "a", SIZE_MAX, me->rank, 0, NULL, NULL, NULL, &me->error),
        "the size of data is ");
    RANK_REFUSES(
        me,
        tutti_broadcast_bytes(me->group, NULL, 0, 1 - me->rank, -1, NULL, &bytes, NULL, &me->error),
        "max_bytes is -1");
    tutti_group* coalescing = NULL;
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    RANK_STATUS(me, tutti_all_gather_object(coalescing, mine, NULL, NULL, got, 2, NULL, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    RANK_EXPECT(me, rank_says(me, "group is a handle of kind coalescing, not group"));
    tutti_group_release(coalescing);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    tutti_object_release(mine);
    tutti_object_release(open);
}

static void wrong_arguments_are_named_and_harm_nobody(void** state) {
    (void)state;
    RUN(2, give_wrong_arguments);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_read_names_the_sender_and_the_group_goes_on),
        TEST(another_count_is_told_and_the_group_goes_on),
        TEST(more_than_the_limit_is_refused_before_memory_is_taken),
        TEST(the_rank_that_broadcasts_more_than_the_limit_is_named),
        TEST(ranks_that_call_different_things_are_told),
        TEST(wrong_arguments_are_named_and_harm_nobody),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
