/* Thousands of receives and messages that wait at once, met in the opposite order. The first
 * argument is the backend. */
#include "on_ranks.h"

/* More than the 8192 messages to a rank that shared memory offers before a receive takes one; fewer
 * where that is not what is tested. */
#ifndef MANY_MESSAGES
#define MANY_MESSAGES 10000
#endif
enum { MANY = MANY_MESSAGES, GO = MANY };

static int64_t values[MANY], rooms[MANY];
static tutti_work* works[3][MANY];

static int64_t value_of(int32_t rank, int32_t number) {
    return 1000000 * (int64_t)rank + number;
}

static void release_all(rank_context* me) {
    for (int32_t i = 0; i < MANY; ++i) {
        tutti_work_release(works[me->rank][i]);
        works[me->rank][i] = NULL;
    }
}

/* By rank 1. */
static void start_send(rank_context* me, int32_t number, int32_t tag) {
    const tutti_buffer from = TUTTI_BUFFER_INIT(&values[number], 1, TUTTI_INT64);
    values[number] = value_of(me->rank, number);
    RANK_OK(me, tutti_send(me->group, &from, 0, tag, NULL, &works[me->rank][number], &me->error));
}

static void start_receive(rank_context* me, int32_t number, int32_t source, int32_t tag) {
    const tutti_buffer to = TUTTI_BUFFER_INIT(&rooms[number], 1, TUTTI_INT64);
    rooms[number] = -1;
    RANK_OK(me, tutti_recv(me->group, &to, source, tag, NULL, NULL, &works[me->rank][number],
                           &me->error));
}

static void wait_for_all(rank_context* me) {
    RANK_OK(me, tutti_work_wait_all(works[me->rank], MANY, 0, &me->error));
    release_all(me);
}

static void say_go(rank_context* me, int32_t to) {
    int64_t go = 1;
    const tutti_buffer word = TUTTI_BUFFER_INIT(&go, 1, TUTTI_INT64);
    RANK_OK(me, tutti_send(me->group, &word, to, GO, NULL, NULL, &me->error));
}
static void await_go(rank_context* me, int32_t from) {
    int64_t go = 0;
    const tutti_buffer word = TUTTI_BUFFER_INIT(&go, 1, TUTTI_INT64);
    RANK_OK(me, tutti_recv(me->group, &word, from, GO, NULL, NULL, NULL, &me->error));
}

typedef struct order {
    int receives_first, same_tag, from_any;
} order;

/* Rank 1 sends to rank 0, whose receives are in the opposite order, but for those of one tag. */
static void meet_backwards(rank_context* me) {
    const order* const how = (const order*)me->user;
    if (me->rank == 1) {
        if (how->receives_first) await_go(me, 0);
        for (int32_t i = 0; i < MANY && !me->failed; ++i) start_send(me, i, how->same_tag ? 0 : i);
        if (!how->receives_first && !me->failed) say_go(me, 0);
        if (!me->failed) wait_for_all(me);
        return;
    }
    if (!how->receives_first) await_go(me, 1);
    for (int32_t i = MANY; i-- > 0 && !me->failed;) {
        const int32_t source = how->from_any && (how->same_tag || i % 3 > 0) ? -1 : 1;
        start_receive(me, i, source, how->same_tag ? 0 : i);
    }
    if (how->receives_first && !me->failed) say_go(me, 1);
    if (!me->failed) wait_for_all(me);
    for (int32_t i = 0; i < MANY; ++i)
        RANK_EXPECT(me, rooms[i] == value_of(1, how->same_tag ? MANY - 1 - i : i));
}

static void receives_in_the_opposite_order_get_their_messages(void** state) {
    (void)state;
    for (int which = 0; which < 8; ++which) {
        order how = {which & 1, which >> 1 & 1, which >> 2};
        RUN_WITH(2, meet_backwards, &how);
    }
}

/* The last two of the four of a tag are cancelled, from the last tag to the first; the others get
 * the messages. */
static void cancel_half(rank_context* me) {
    int32_t cancelled = 0;
    if (me->rank == 1) {
        await_go(me, 0);
        for (int32_t i = 0; i < MANY && !me->failed; i += 2) start_send(me, i, i / 4);
        if (!me->failed) wait_for_all(me);
        return;
    }
    for (int32_t i = 0; i < MANY && !me->failed; ++i) start_receive(me, i, 1, i / 4);
    for (int32_t i = MANY; i-- > 0;) {
        if (i % 4 < 2) continue;
        RANK_OK(me, tutti_work_cancel(works[0][i], &cancelled, &me->error));
        RANK_EXPECT(me, cancelled == 1);
    }
    say_go(me, 1);
    for (int32_t i = 0; i < MANY; ++i) {
        if (i % 4 >= 2) {
            RANK_STATUS(me, tutti_work_wait(works[0][i], 0, &me->error), TUTTI_ERR_ABORTED);
            RANK_EXPECT(me, rooms[i] == -1);
        } else {
            RANK_OK(me, tutti_work_wait(works[0][i], 0, &me->error));
            RANK_EXPECT(me, rooms[i] == value_of(1, i % 4 == 0 ? i : i + 1));
        }
    }
    release_all(me);
}

static void thousands_of_receives_can_be_cancelled(void** state) {
    (void)state;
    RUN(2, cancel_half);
}

/* No message comes for them; those behind are not harmed. */
static void time_out_many(rank_context* me) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    if (me->rank == 1) {
        await_go(me, 0);
        start_send(me, 0, 0);
        if (!me->failed) wait_for_all(me);
        return;
    }
    for (int32_t i = 1; i < MANY; ++i) {
        const tutti_buffer to = TUTTI_BUFFER_INIT(&rooms[i], 1, TUTTI_INT64);
        options.timeout_ms = 1 + (MANY - i) % 50;
        RANK_OK(me, tutti_recv(me->group, &to, i % 2 ? 1 : -1, i, &options, NULL, &works[0][i],
                               &me->error));
    }
    start_receive(me, 0, 1, 0);
    for (int32_t i = 1; i < MANY; ++i)
        RANK_STATUS(me, tutti_work_wait(works[0][i], 0, &me->error), TUTTI_ERR_TIMEOUT);
    if (!me->failed) say_go(me, 1);
    RANK_OK(me, tutti_work_wait(works[0][0], 0, &me->error));
    RANK_EXPECT(me, rooms[0] == value_of(1, 0));
    release_all(me);
}

static void thousands_of_receives_can_be_late(void** state) {
    (void)state;
    RUN(2, time_out_many);
}

/* Rank 2 leaves with receives that wait for it; those for rank 1, or for any, get theirs. */
static void lose_one(rank_context* me) {
    if (me->rank == 2) {
        await_go(me, 0);
        RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
        me->group = NULL;
        return;
    }
    if (me->rank == 1) {
        await_go(me, 0);
        for (int32_t i = 0; i < MANY && !me->failed; ++i)
            if (i % 3 != 2) start_send(me, i, i);
        if (!me->failed) wait_for_all(me);
        return;
    }
    for (int32_t i = 0; i < MANY && !me->failed; ++i)
        start_receive(me, i, i % 3 == 0 ? 1 : i % 3 == 1 ? -1 : 2, i);
    if (!me->failed) say_go(me, 2);
    for (int32_t i = 2; i < MANY; i += 3) {
        RANK_STATUS(me, tutti_work_wait(works[0][i], 0, &me->error), TUTTI_ERR_PEER_LOST);
        RANK_EXPECT(me, me->error.rank == 2);
    }
    if (!me->failed) say_go(me, 1);
    for (int32_t i = 0; i < MANY; ++i) {
        if (i % 3 == 2) continue;
        RANK_OK(me, tutti_work_wait(works[0][i], 0, &me->error));
        RANK_EXPECT(me, rooms[i] == value_of(1, i));
    }
    release_all(me);
}

static void receives_of_a_rank_that_leaves_end_and_no_others(void** state) {
    (void)state;
    RUN(3, lose_one);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(receives_in_the_opposite_order_get_their_messages),
        TEST(thousands_of_receives_can_be_cancelled),
        TEST(thousands_of_receives_can_be_late),
        TEST(receives_of_a_rank_that_leaves_end_and_no_others),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
