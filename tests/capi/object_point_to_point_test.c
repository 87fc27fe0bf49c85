/* Objects and bytes of any size from one rank to another; ranks are threads. The first argument is
 * the backend. */
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"
#include "sized_objects.h"

#define SENDS(me, objects, count, to, tag, work) \
    tutti_send_object_list((me)->group, objects, count, to, tag, NULL, NULL, work, &(me)->error)
#define RECEIVES(me, got, count, from, tag, source, work)                                \
    tutti_recv_object_list((me)->group, from, tag, NULL, NULL, got, count, source, work, \
                           &(me)->error)

static void end(rank_context* me, tutti_work* work) {
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
}
static void end_with(rank_context* me, tutti_work* work, tutti_object** out, int64_t count) {
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    RANK_OK(me, tutti_work_take_objects(work, out, count, &me->error));
    tutti_work_release(work);
}
static void end_with_bytes(rank_context* me, tutti_work* work, tutti_bytes** out) {
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    RANK_OK(me, tutti_work_take_bytes(work, out, 1, &me->error));
    tutti_work_release(work);
}

/* To the next rank, from the last one: every size, with and without a work, in both orders. */
static void pass_on(rank_context* me) {
    const int32_t next = (me->rank + 1) % me->size, last = (me->rank + me->size - 1) % me->size;
    for (int round = 0; round < 4 * SIZES && !me->failed; ++round) {
        const size_t size = sizes[round % SIZES];
        tutti_work *sending = NULL, *receiving = NULL;
        tutti_object *given[2], *got[2] = {NULL, NULL};
        int32_t source = -7;
        const int later = round < 2 * SIZES;
        for (int i = 0; i < 2; ++i) given[i] = object_of(me->rank + i, size);
        if (later) RANK_OK(me, RECEIVES(me, NULL, 2, last, round, NULL, &receiving));
        RANK_OK(me, SENDS(me, given, 2, next, round, &sending));
        for (int i = 0; i < 2; ++i) tutti_object_release(given[i]);
        if (later) {
            end_with(me, receiving, got, 2);
        } else {
            RANK_OK(me, RECEIVES(me, got, 2, last, round, &source, NULL));
        }
        end(me, sending);
        RANK_EXPECT(me, later || source == last);
        for (int i = 0; i < 2; ++i) RANK_EXPECT(me, is_object_of(got[i], last + i, size));
    }
}

static void objects_of_any_size_arrive(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, pass_on);
}

static void pass_bytes_on(rank_context* me) {
    const int32_t next = (me->rank + 1) % me->size, last = (me->rank + me->size - 1) % me->size;
    for (int round = 0; round < 2 * SIZES; ++round) {
        const size_t size = sizes[round % SIZES];
        unsigned char* mine = bytes_of(me->rank, size);
        tutti_work *sending = NULL, *receiving = NULL;
        tutti_bytes* got = NULL;
        int32_t source = -7;
        RANK_OK(me, tutti_send_bytes(me->group, mine, size, next, 0, NULL, &sending, &me->error));
        if (round < SIZES) {
            RANK_OK(me, tutti_recv_bytes(me->group, last, 0, 0, NULL, NULL, NULL, &receiving,
                                         &me->error));
            RANK_OK(me, tutti_work_wait(receiving, 0, &me->error));
            RANK_OK(me, tutti_work_source_rank(receiving, &source, &me->error));
            end_with_bytes(me, receiving, &got);
        } else {
            RANK_OK(me,
                    tutti_recv_bytes(me->group, last, 0, 0, NULL, &got, &source, NULL, &me->error));
        }
        end(me, sending);
        RANK_EXPECT(me, source == last && is_bytes_of(got, last, size));
        free(mine);
    }
}

static void bytes_of_any_size_arrive(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, pass_bytes_on);
}

static void receive_from_any(rank_context* me) {
    for (int round = 0; round < SIZES; ++round) {
        if (me->rank > 0) {
            tutti_object* mine = object_of(me->rank, sizes[round]);
            RANK_OK(me, SENDS(me, &mine, 1, 0, 5, NULL));
            tutti_object_release(mine);
            continue;
        }
        for (int32_t i = 1; i < me->size; ++i) {
            tutti_object* got = NULL;
            tutti_work* work = NULL;
            int32_t source = -7;
            if (i == 1) {
                RANK_OK(me, RECEIVES(me, &got, 1, -1, 5, &source, NULL));
            } else {
                RANK_OK(me, RECEIVES(me, NULL, 1, -1, 5, NULL, &work));
                RANK_OK(me, tutti_work_wait(work, 0, &me->error));
                RANK_OK(me, tutti_work_source_rank(work, &source, &me->error));
                end_with(me, work, &got, 1);
            }
            RANK_EXPECT(me, source > 0 && source < me->size);
            tutti_object_release(got);
        }
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void a_receive_from_any_rank_says_from_whom(void** state) {
    (void)state;
    RUN(3, receive_from_any);
}

static void send_to_oneself(rank_context* me) {
    for (int round = 0; round < SIZES; ++round) {
        tutti_object *mine = object_of(me->rank, sizes[round]), *got = NULL;
        tutti_bytes* bytes = NULL;
        tutti_work* works[4] = {NULL, NULL, NULL, NULL};
        RANK_OK(me, SENDS(me, &mine, 1, me->rank, 0, &works[0]));
        RANK_OK(me, RECEIVES(me, NULL, 1, me->rank, 0, NULL, &works[1]));
        RANK_OK(me, tutti_recv_bytes(me->group, me->rank, 0, 0, NULL, NULL, NULL, &works[2],
                                     &me->error));
        RANK_OK(me, tutti_send_bytes(me->group, "seven b", 7, me->rank, 0, NULL, &works[3],
                                     &me->error));
        end(me, works[0]);
        end_with(me, works[1], &got, 1);
        end_with_bytes(me, works[2], &bytes);
        end(me, works[3]);
        RANK_EXPECT(me, is_object_of(got, me->rank, sizes[round]));
        RANK_EXPECT(me, tutti_bytes_size(bytes) == 7);
        tutti_object_release(mine);
        tutti_bytes_release(bytes);
    }
    RANK_STATUS(me, tutti_send_bytes(me->group, "x", 1, me->rank, 0, NULL, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
}

static void a_rank_may_send_to_itself(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 2; ++size) RUN(size, send_to_oneself);
}

/* A receiver that lets nothing be decompressed sees whether it would have to. */
static void send_what_shrinks(rank_context* me) {
    tutti_object* object = object_of(0, 100000);
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    options.max_decompressed_bytes = 100;
    if (me->rank == 0) RANK_OK(me, SENDS(me, &object, 1, 1, 0, NULL));
    if (me->rank == 1) {
        tutti_object* got = NULL;
        const tutti_status status = tutti_recv_object_list(me->group, 0, 0, &options, NULL, &got, 1,
                                                           NULL, NULL, &me->error);
        if (strcmp(backend, "shm") == 0) {
            RANK_EXPECT(me, status == TUTTI_OK && is_object_of(got, 0, 100000));
        } else {
            RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH && got == NULL);
            RANK_SAYS(me, "should hold 100007 bytes, and the limit is 100");
        }
    }
    tutti_object_release(object);
}

static void what_shrinks_is_compressed_unless_memory_is_shared(void** state) {
    (void)state;
    RUN(2, send_what_shrinks);
}

/* A receive that fails has consumed the message, and the next one gets the next. */
#define REFUSED(me, call, fragment)                \
    do {                                           \
        RANK_STATUS(me, call, TUTTI_ERR_MISMATCH); \
        RANK_SAYS(me, fragment);                   \
        RANK_EXPECT(me, (me)->error.rank == 1);    \
    } while (0)

static void send_what_is_not_expected(rank_context* me, size_t size) {
    tutti_object *mine = object_of(me->rank, size), *pair[2];
    unsigned char* data = bytes_of(me->rank, size);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, (int64_t)size, TUTTI_UINT8);
    pair[0] = pair[1] = mine;
    RANK_OK(me, SENDS(me, &mine, 1, 0, 0, NULL));
    RANK_OK(me, tutti_send_bytes(me->group, data, size, 0, 0, NULL, NULL, &me->error));
    RANK_OK(me, tutti_send(me->group, &buffer, 0, 0, NULL, NULL, &me->error));
    RANK_OK(me, SENDS(me, &mine, 1, 0, 0, NULL));
    RANK_OK(me, SENDS(me, pair, 2, 0, 0, NULL));
    RANK_OK(me, tutti_send_bytes(me->group, data, size, 0, 0, NULL, NULL, &me->error));
    RANK_OK(me, SENDS(me, &mine, 1, 0, 0, NULL));
    tutti_object_release(mine);
    free(data);
}

static void receive_what_was_not_sent(rank_context* me, size_t size) {
    tutti_object *got = NULL, *none = NULL;
    tutti_bytes* bytes = NULL;
    tutti_work* work = NULL;
    int32_t room[4];
    char wanted[64];
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(room, 4, TUTTI_INT32);
    REFUSED(me, tutti_recv_bytes(me->group, 1, 0, 0, NULL, &bytes, NULL, NULL, &me->error),
            "recv_bytes from rank 1 (tag 0) on group");
    RANK_EXPECT(me, strstr(me->error.message, "sent objects (") != NULL);
    RANK_EXPECT(me, strstr(me->error.message, "where this receive is bytes") != NULL);
    snprintf(wanted, sizeof wanted, "sent bytes (%d) where this receive is objects", (int)size);
    REFUSED(me, RECEIVES(me, &none, 1, 1, 0, NULL, NULL), wanted);
    snprintf(wanted, sizeof wanted, "sent uint8 × %d where this receive is bytes", (int)size);
    REFUSED(me, tutti_recv_bytes(me->group, 1, 0, 0, NULL, &bytes, NULL, NULL, &me->error), wanted);
    REFUSED(me, tutti_recv(me->group, &buffer, 1, 0, NULL, NULL, NULL, &me->error),
            "where this receive is int32 × 4");
    RANK_OK(me, RECEIVES(me, NULL, 1, 1, 0, NULL, &work));
    REFUSED(me, tutti_work_wait(work, 0, &me->error), "there are 2 objects, and 1 are expected");
    RANK_EXPECT(me, strstr(me->error.message, "recv_object_list on group") != NULL);
    tutti_work_release(work);
    REFUSED(
        me,
        tutti_recv_bytes(me->group, -1, 0, (int64_t)size - 1, NULL, &bytes, NULL, NULL, &me->error),
        "bytes at most");
    RANK_EXPECT(me, none == NULL && bytes == NULL);
    RANK_OK(me, RECEIVES(me, &got, 1, 1, 0, NULL, NULL));
    RANK_EXPECT(me, is_object_of(got, 1, size));
}

static void mismatch(rank_context* me) {
    static const size_t told[] = {2, 5000, 300000};
    for (int i = 0; i < 3 && !me->failed; ++i) {
        if (me->rank == 1) send_what_is_not_expected(me, told[i]);
        if (me->rank == 0) receive_what_was_not_sent(me, told[i]);
    }
}

static void what_does_not_fit_is_told_and_consumed(void** state) {
    (void)state;
    RUN(2, mismatch);
}

static void exceed_limits(rank_context* me) {
    tutti_object *mine = object_of(1, 100000), *got = NULL;
    tutti_object_options options = TUTTI_OBJECT_OPTIONS_INIT;
    if (me->rank == 1) {
        for (int i = 0; i < 2; ++i) RANK_OK(me, SENDS(me, &mine, 1, 0, 0, NULL));
        options.max_bytes = 1000;
        RANK_STATUS(
            me, tutti_send_object_list(me->group, &mine, 1, 0, 0, &options, NULL, NULL, &me->error),
            TUTTI_ERR_INVALID_ARGUMENT);
    } else {
        options.max_bytes = 1000;
        REFUSED(me,
                tutti_recv_object_list(me->group, 1, 0, &options, NULL, &got, 1, NULL, NULL,
                                       &me->error),
                "bytes at most");
        options.max_bytes = 0;
        options.max_values = 2;
        REFUSED(me,
                tutti_recv_object_list(me->group, 1, 0, &options, NULL, &got, 1, NULL, NULL,
                                       &me->error),
                "rank 1 sent what cannot be read: object 0");
        RANK_EXPECT(me, got == NULL);
    }
    tutti_object_release(mine);
}

static void limits_hold_on_both_sides(void** state) {
    (void)state;
    RUN(2, exceed_limits);
}

/* A receive that timed out has lost nothing. */
static void time_out_first(rank_context* me) {
    if (me->rank == 0) {
        tutti_call_options soon = TUTTI_CALL_OPTIONS_INIT;
        tutti_object* got = NULL;
        tutti_work* work = NULL;
        soon.timeout_ms = 1;
        RANK_STATUS(
            me,
            tutti_recv_object_list(me->group, 1, 0, NULL, &soon, &got, 1, NULL, NULL, &me->error),
            TUTTI_ERR_TIMEOUT);
        RANK_OK(me, tutti_recv_object_list(me->group, 1, 0, NULL, &soon, NULL, 1, NULL, &work,
                                           &me->error));
        RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_TIMEOUT);
        RANK_EXPECT(me, strstr(me->error.message, "recv_object_list from rank 1") != NULL);
        tutti_work_release(work);
        rank_tell(me, "timed out");
        RANK_OK(me, RECEIVES(me, &got, 1, 1, 0, NULL, NULL));
        RANK_EXPECT(me, is_object_of(got, 1, 5000));
    } else {
        tutti_object* mine = object_of(1, 5000);
        rank_await(me, "timed out");
        RANK_OK(me, SENDS(me, &mine, 1, 0, 0, NULL));
        tutti_object_release(mine);
    }
}

static void a_receive_that_timed_out_has_lost_nothing(void** state) {
    (void)state;
    RUN(2, time_out_first);
}

/* The end of the group ends a receive, whose memory is the caller's again. */
static void leave_early(rank_context* me) {
    tutti_object** got = (tutti_object**)calloc(1, sizeof *got);
    tutti_work* work = NULL;
    tutti_group* const group = me->group;
    RANK_OK(me, RECEIVES(me, NULL, 1, -1, 0, NULL, &work));
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    me->group = NULL;
    RANK_OK(me, tutti_destroy_process_group(group, NULL, &me->error));
    RANK_EXPECT(me, *got == NULL);
    free(got);
    RANK_EXPECT(me, tutti_work_wait(work, 0, &me->error) != TUTTI_OK);
    tutti_work_release(work);
}

static void the_end_of_a_group_ends_its_receives(void** state) {
    (void)state;
    RUN(2, leave_early);
}

static void give_wrong_arguments(rank_context* me) {
    tutti_object *mine = object_of(0, 10), *got = NULL;
    tutti_bytes* bytes = NULL;
    tutti_work* work = NULL;
    int32_t source = 0;
    RANK_REFUSES(me, SENDS(me, NULL, 1, 1 - me->rank, 0, NULL), "objects is NULL but count is 1");
    RANK_REFUSES(me, SENDS(me, &mine, 1, 7, 0, NULL), "group_dst is 7");
    RANK_REFUSES(me, SENDS(me, &mine, 1, 1 - me->rank, -1, NULL), "tag is -1");
    RANK_REFUSES(me, RECEIVES(me, NULL, 1, -1, 0, NULL, NULL), "out_objects is NULL");
    RANK_REFUSES(me, RECEIVES(me, &got, 1, -2, 0, NULL, NULL), "group_src is -2");
    RANK_REFUSES(me, RECEIVES(me, &got, 1, -1, 0, NULL, &work), "out_objects must be NULL");
    RANK_REFUSES(me, RECEIVES(me, NULL, 1, -1, 0, &source, &work),
                 "out_group_src must be NULL with a work");
    RANK_REFUSES(me, RECEIVES(me, NULL, -1, -1, 0, NULL, &work), "count is -1");
    RANK_REFUSES(me, tutti_send_bytes(me->group, NULL, 1, 1 - me->rank, 0, NULL, NULL, &me->error),
                 "data is NULL but its size is 1");
    RANK_REFUSES(
        me, tutti_send_bytes(me->group, "a", SIZE_MAX, 1 - me->rank, 0, NULL, NULL, &me->error),
        "the size of data is ");
    RANK_REFUSES(me, tutti_recv_bytes(me->group, 0, 0, 0, NULL, NULL, NULL, NULL, &me->error),
                 "out_bytes is NULL");
    RANK_REFUSES(me, tutti_recv_bytes(me->group, 0, 0, -1, NULL, &bytes, NULL, NULL, &me->error),
                 "max_bytes is -1");
    RANK_EXPECT(me, work == NULL && got == NULL && bytes == NULL);
    tutti_object_release(mine);
}

static void wrong_arguments_are_named(void** state) {
    (void)state;
    RUN(2, give_wrong_arguments);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(objects_of_any_size_arrive),
        TEST(bytes_of_any_size_arrive),
        TEST(a_receive_from_any_rank_says_from_whom),
        TEST(a_rank_may_send_to_itself),
        TEST(what_shrinks_is_compressed_unless_memory_is_shared),
        TEST(what_does_not_fit_is_told_and_consumed),
        TEST(limits_hold_on_both_sides),
        TEST(a_receive_that_timed_out_has_lost_nothing),
        TEST(the_end_of_a_group_ends_its_receives),
        TEST(wrong_arguments_are_named),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
