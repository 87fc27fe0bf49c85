/* Does a thread that waits move what it waits for? The library's own threads look for that once a
 * minute here, so whatever needed them would take longer than a test may. The first argument is the
 * backend. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>

#include "on_ranks.h"

enum { ROUNDS = 200, COUNT = 3 };

typedef struct exchange {
    int32_t out[COUNT], in[COUNT];
    tutti_p2p_op ops[2];
    tutti_work* works[2];
    int32_t from;
} exchange;

static void begin(rank_context* me, exchange* with, int32_t round) {
    const int32_t next = (me->rank + 1) % me->size;
    const tutti_p2p_op receive = TUTTI_P2P_OP_INIT(TUTTI_IRECV, with->in, COUNT, TUTTI_INT32, 0, 5);
    const tutti_p2p_op send =
        TUTTI_P2P_OP_INIT(TUTTI_ISEND, with->out, COUNT, TUTTI_INT32, next, 5);
    with->from = (me->rank + me->size - 1) % me->size;
    with->ops[0] = receive;
    with->ops[0].group_peer = with->from;
    with->ops[1] = send;
    with->works[0] = with->works[1] = NULL;
    for (int32_t i = 0; i < COUNT; ++i) {
        with->out[i] = 1000 * me->rank + round + i;
        with->in[i] = -1;
    }
}

static void end(rank_context* me, exchange* with, int32_t round) {
    for (int32_t i = 0; i < COUNT; ++i)
        RANK_EXPECT(me, with->in[i] == 1000 * with->from + round + i);
    tutti_work_release(with->works[0]);
    tutti_work_release(with->works[1]);
}

static void wait_for_messages(rank_context* me) {
    exchange with;
    for (int32_t round = 0; round < ROUNDS && !me->failed; ++round) {
        begin(me, &with, round);
        if (round % 5 == 0) { /* one call */
            RANK_OK(me, tutti_batch_isend_irecv(me->group, with.ops, 2, NULL, NULL, &me->error));
            end(me, &with, round);
            continue;
        }
        RANK_OK(me, tutti_batch_isend_irecv(me->group, with.ops, 2, NULL, with.works, &me->error));
        if (round % 5 == 1) RANK_OK(me, tutti_work_wait_all(with.works, 2, 0, &me->error));
        for (int i = 0; i < 2 && round % 5 == 2; ++i)
            RANK_OK(me, tutti_work_wait(with.works[1 - i], 0, &me->error));
        tutti_work* left[2] = {with.works[0], with.works[1]};
        for (int i = 0; i < 2 && round % 5 == 3; ++i) {
            int64_t index = -1;
            RANK_OK(me, tutti_work_wait_any(left, 2, 0, &index, &me->error));
            RANK_EXPECT(me, index >= 0 && left[index] != NULL);
            left[index] = NULL;
        }
        for (int i = 0; i < 2 && round % 5 == 4; ++i) {
            for (int32_t is_done = 0; !is_done;)
                RANK_OK(me, tutti_work_is_completed(with.works[i], &is_done, &me->error));
        }
        end(me, &with, round);
    }
}

static void a_thread_that_waits_for_messages_moves_them(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, wait_for_messages);
}

/* The works of another thread's messages end as well. */
static void one_waits_for_all(rank_context* me) {
    exchange with;
    tutti_work* first = NULL;
    for (int32_t round = 0; round < ROUNDS && !me->failed; ++round) {
        begin(me, &with, round);
        RANK_OK(me, tutti_batch_isend_irecv(me->group, with.ops, 2, NULL, with.works, &me->error));
        int32_t value = me->rank;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
        RANK_OK(me,
                tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, &first, &me->error));
        RANK_OK(me, tutti_work_wait(first, 0, &me->error));
        tutti_work_release(first);
        RANK_EXPECT(me, value == me->size * (me->size - 1) / 2);
        RANK_OK(me, tutti_work_wait_all(with.works, 2, 0, &me->error));
        end(me, &with, round);
    }
}

static void messages_and_collectives_are_under_way_together(void** state) {
    (void)state;
    RUN(2, one_waits_for_all);
    RUN(3, one_waits_for_all);
}

/* The others come to the barrier when the rank that waits there has taken their messages. */
static void barrier_before_the_messages_end(rank_context* me) {
    exchange with;
    for (int32_t round = 0; round < ROUNDS && !me->failed; ++round) {
        const int is_first = me->rank == round % me->size;
        begin(me, &with, round);
        RANK_OK(me, tutti_batch_isend_irecv(me->group, with.ops, 2, NULL, with.works, &me->error));
        if (is_first) RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        RANK_OK(me, tutti_work_wait_all(with.works, 2, 0, &me->error));
        if (!is_first) RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        end(me, &with, round);
    }
}

static void a_thread_that_waits_in_a_collective_moves_messages(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, barrier_before_the_messages_end);
}

static void wait_for_the_last(rank_context* me) {
    enum { DEPTH = 5 };
    tutti_work* works[DEPTH];
    int32_t values[DEPTH];
    for (int32_t round = 0; round < ROUNDS && !me->failed; ++round) {
        for (int32_t i = 0; i < DEPTH; ++i) {
            const tutti_buffer buffer = TUTTI_BUFFER_INIT(&values[i], 1, TUTTI_INT32);
            values[i] = me->rank + i;
            if (i % 2 == 0)
                RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_MAX, NULL, &works[i],
                                             &me->error));
            else
                RANK_OK(me, tutti_barrier(me->group, NULL, &works[i], &me->error));
        }
        if (round % 3 == 0) RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        if (round % 3 == 1) RANK_OK(me, tutti_work_wait(works[DEPTH - 1], 0, &me->error));
        if (round % 3 == 2) RANK_OK(me, tutti_work_wait_all(works, DEPTH, 0, &me->error));
        for (int32_t i = 0; i < DEPTH; ++i) {
            int32_t is_done = 0;
            RANK_OK(me, tutti_work_is_completed(works[i], &is_done, &me->error));
            RANK_EXPECT(me, is_done);
            RANK_EXPECT(me, i % 2 != 0 || values[i] == me->size - 1 + i);
            tutti_work_release(works[i]);
        }
    }
}

static void a_thread_that_waits_for_a_collective_runs_those_before_it(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, wait_for_the_last);
}

/* Ranks with odd numbers list the works the other way round: messages and a sum of one group, and a
 * sum of another one. */
static void wait_in_different_orders(rank_context* me) {
    exchange with;
    tutti_group* other = NULL;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &other, &me->error));
    for (int32_t round = 0; round < ROUNDS && !me->failed; ++round) {
        int32_t values[2] = {me->rank, me->rank + 1};
        tutti_work* works[4];
        begin(me, &with, round);
        RANK_OK(me, tutti_batch_isend_irecv(me->group, with.ops, 2, NULL, with.works, &me->error));
        for (int i = 0; i < 2; ++i) {
            const tutti_buffer buffer = TUTTI_BUFFER_INIT(&values[i], 1, TUTTI_INT32);
            RANK_OK(me, tutti_all_reduce(i == 0 ? me->group : other, NULL, &buffer, TUTTI_MAX, NULL,
                                         &works[2 + i], &me->error));
        }
        for (int i = 0; i < 2; ++i) works[i] = with.works[i];
        for (int i = 0; i < 2 && me->rank % 2 == 1; ++i) {
            tutti_work* const one = works[i];
            works[i] = works[3 - i];
            works[3 - i] = one;
        }
        RANK_OK(me, tutti_work_wait_all(works, 4, 0, &me->error));
        RANK_EXPECT(me, values[0] == me->size - 1 && values[1] == me->size);
        for (int i = 0; i < 4; ++i) {
            if (works[i] != with.works[0] && works[i] != with.works[1])
                tutti_work_release(works[i]);
        }
        end(me, &with, round);
    }
    tutti_group_release(other);
}

static void ranks_wait_for_their_works_in_different_orders(void** state) {
    (void)state;
    RUN(2, wait_in_different_orders);
    RUN(3, wait_in_different_orders);
}

/* A thread that waits does not keep the group. */
static void release_and_wait(rank_context* me) {
    for (int32_t round = 0; round < 20 && !me->failed; ++round) {
        tutti_group* other = NULL;
        tutti_work* work = NULL;
        int32_t value = 0;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
        RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &other, &me->error));
        if (me->rank == 0) {
            RANK_OK(me, tutti_recv(other, &buffer, 1, 1, NULL, NULL, &work, &me->error));
            tutti_group_release(other);
            RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_ABORTED);
            tutti_work_release(work);
        }
        RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        if (me->rank != 0) tutti_group_release(other);
    }
}

static void works_of_a_group_that_is_released_end(void** state) {
    (void)state;
    RUN(2, release_and_wait);
}

/* No call waits for the sum, and the group's thread has not looked for it. */
static void destroy_at_once(rank_context* me) {
    tutti_group* other = NULL;
    tutti_work* work = NULL;
    int32_t value = 0, is_done = 0;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &other, &me->error));
    RANK_OK(me, tutti_all_reduce(other, NULL, &buffer, TUTTI_SUM, NULL, &work, &me->error));
    RANK_OK(me, tutti_destroy_process_group(other, NULL, &me->error));
    RANK_OK(me, tutti_work_is_completed(work, &is_done, &me->error));
    RANK_EXPECT(me, is_done);
    tutti_work_release(work);
    tutti_group_release(other);
}

static void a_group_with_a_collective_that_has_not_begun_ends_at_once(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, destroy_at_once);
}

int main(int argc, char** argv) {
    setenv("TUTTI_PROGRESS", "60000000", 1);
    const struct CMUnitTest tests[] = {
        TEST(a_thread_that_waits_for_messages_moves_them),
        TEST(messages_and_collectives_are_under_way_together),
        TEST(a_thread_that_waits_in_a_collective_moves_messages),
        TEST(a_thread_that_waits_for_a_collective_runs_those_before_it),
        TEST(ranks_wait_for_their_works_in_different_orders),
        TEST(works_of_a_group_that_is_released_end),
        TEST(a_group_with_a_collective_that_has_not_begun_ends_at_once),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
