/* Messages that start together. The first argument is the backend. */
#include "on_ranks.h"

enum { BATCH = 4 };

/* Both neighbours in a ring at once, sends and receives mixed, and oneself. */
static void exchange_in_a_batch(rank_context* me, int with_works) {
    static int32_t out[4][BATCH], in[4][BATCH];
    const int32_t next = (me->rank + 1) % me->size, last = (me->rank + me->size - 1) % me->size;
    const int32_t peers[BATCH] = {next, last, me->rank, next};
    const int32_t sources[BATCH] = {last, next, me->rank, -1};
    tutti_p2p_op ops[2 * BATCH];
    tutti_work* works[2 * BATCH] = {NULL};
    int count = 0;
    for (int32_t i = 0; i < BATCH; ++i) {
        /* The message for any rank would find nobody in a group of one. */
        const int32_t peer = me->size == 1 && i == 3 ? me->rank : peers[i];
        const int32_t source = me->size == 1 && i == 3 ? me->rank : sources[i];
        const tutti_p2p_op to =
            TUTTI_P2P_OP_INIT(TUTTI_ISEND, &out[me->rank][i], 1, TUTTI_INT32, peer, i);
        const tutti_p2p_op from =
            TUTTI_P2P_OP_INIT(TUTTI_IRECV, &in[me->rank][i], 1, TUTTI_INT32, source, i);
        out[me->rank][i] = 100 * me->rank + i;
        in[me->rank][i] = -1;
        ops[count++] = i % 2 == 0 ? to : from;
        ops[count++] = i % 2 == 0 ? from : to;
    }
    RANK_OK(me, tutti_batch_isend_irecv(me->group, ops, (size_t)count, NULL,
                                        with_works ? works : NULL, &me->error));
    memset(ops, 0x55, sizeof ops); /* they were read */
    if (with_works) RANK_OK(me, tutti_work_wait_all(works, (size_t)count, 0, &me->error));
    for (int32_t i = 0; i < BATCH; ++i) {
        const int32_t source = sources[i] == -1 ? last : sources[i];
        RANK_EXPECT(me, in[me->rank][i] == 100 * source + i);
        if (!with_works) continue;
        int32_t told = -7;
        RANK_OK(me, tutti_work_source_rank(works[2 * i + (i % 2 == 0)], &told, &me->error));
        RANK_EXPECT(me, told == source);
    }
    for (int i = 0; i < count; ++i) tutti_work_release(works[i]);
}

static void exchange_in_batches(rank_context* me) {
    for (int turn = 0; turn < 6 && !me->failed; ++turn) exchange_in_a_batch(me, turn % 2);
    RANK_OK(me, tutti_batch_isend_irecv(me->group, NULL, 0, NULL, NULL, &me->error));
}

static void a_batch_moves_messages_both_ways_in_any_mix(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 4; ++size) RUN(size, exchange_in_batches);
}

static void batch_that_fails(rank_context* me) {
    int32_t values[2] = {1, 2}, wrong[2] = {0, 0};
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_work* works[3] = {NULL, NULL, NULL};
    const int32_t other = 1 - me->rank;
    tutti_p2p_op ops[3] = {TUTTI_P2P_OP_INIT(TUTTI_ISEND, values, 1, TUTTI_INT32, other, 0),
                           TUTTI_P2P_OP_INIT(TUTTI_IRECV, wrong, 2, TUTTI_INT32, other, 0),
                           TUTTI_P2P_OP_INIT(TUTTI_IRECV, wrong, 1, TUTTI_INT32, other, 7)};
    /* The message has one element; the third receive gets none. */
    RANK_STATUS(me, tutti_batch_isend_irecv(me->group, ops, 2, NULL, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, strstr(me->error.message, "recv from rank") != NULL);
    ops[1].buffer.count = 1;
    options.timeout_ms = 3000;
    RANK_OK(me, tutti_batch_isend_irecv(me->group, ops, 3, &options, works, &me->error));
    RANK_OK(me, tutti_work_wait_all(works, 2, 0, &me->error));
    RANK_STATUS(me, tutti_work_wait(works[2], 0, &me->error), TUTTI_ERR_TIMEOUT);
    RANK_EXPECT(me, wrong[0] == 1);
    for (int i = 0; i < 3; ++i) tutti_work_release(works[i]);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error)); /* the other still waits */
}

static void a_message_of_a_batch_that_fails_leaves_the_others_alone(void** state) {
    (void)state;
    RUN(2, batch_that_fails);
}

static void refuse_batches(rank_context* me) {
    int32_t value = 0;
    tutti_work* works[2] = {NULL, NULL};
    const int32_t other = 1 - me->rank;
    const tutti_p2p_op good = TUTTI_P2P_OP_INIT(TUTTI_ISEND, &value, 1, TUTTI_INT32, other, 0);
#define BATCH_REFUSED(change, fragment)                                                        \
    do {                                                                                       \
        tutti_p2p_op ops[2] = {good, good};                                                    \
        ops[1].change;                                                                         \
        RANK_STATUS(me, tutti_batch_isend_irecv(me->group, ops, 2, NULL, works, &me->error),   \
                    TUTTI_ERR_INVALID_ARGUMENT);                                               \
        RANK_EXPECT(me, strstr(me->error.message, "tutti_batch_isend_irecv: ops[1]") != NULL); \
        RANK_EXPECT(me, strstr(me->error.message, fragment) != NULL);                          \
        RANK_EXPECT(me, works[0] == NULL && works[1] == NULL);                                 \
    } while (0)
    BATCH_REFUSED(kind = 0, "kind is 0");
    BATCH_REFUSED(kind = 3, "kind is 3");
    BATCH_REFUSED(group_peer = 2, "group_dst is 2");
    BATCH_REFUSED(group_peer = -1, "group_dst is -1");
    BATCH_REFUSED(tag = -1, "tag is -1");
    BATCH_REFUSED(reserved_0 = 1, "reserved");
    BATCH_REFUSED(reserved[1] = 1, "reserved");
    BATCH_REFUSED(buffer.count = -1, "buffer.count is -1");
    BATCH_REFUSED(buffer.data = NULL, "buffer.data is NULL");
    BATCH_REFUSED(buffer.dtype = 99, "buffer.dtype is 99");
    RANK_STATUS(me, tutti_batch_isend_irecv(me->group, NULL, 1, NULL, works, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_EXPECT(me, strstr(me->error.message, "ops is NULL") != NULL);
    /* Nothing was sent. */
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    options.timeout_ms = 20;
    RANK_STATUS(me, tutti_recv(me->group, &buffer, other, 0, &options, NULL, NULL, &me->error),
                TUTTI_ERR_TIMEOUT);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error)); /* the other still waits */
}

static void a_batch_with_a_fault_starts_nothing_and_names_the_message(void** state) {
    (void)state;
    RUN(2, refuse_batches);
}

enum { OUTSTANDING = 4000 };

static void keep_thousands_outstanding(rank_context* me) {
    static int32_t values[2][2][OUTSTANDING];
    static tutti_p2p_op ops[2][2 * OUTSTANDING];
    static tutti_work* works[2][2 * OUTSTANDING];
    tutti_p2p_op* mine = ops[me->rank];
    const int32_t other = 1 - me->rank;
    for (int32_t i = 0; i < OUTSTANDING; ++i) {
        int32_t* to = &values[me->rank][0][i];
        int32_t* from = &values[me->rank][1][i];
        const int32_t tag = i % 5, source = i % 3 == 0 ? -1 : other;
        const tutti_p2p_op sends = TUTTI_P2P_OP_INIT(TUTTI_ISEND, to, 1, TUTTI_INT32, other, tag);
        const tutti_p2p_op takes =
            TUTTI_P2P_OP_INIT(TUTTI_IRECV, from, 1, TUTTI_INT32, source, tag);
        *to = i;
        *from = -1;
        mine[2 * i + me->rank] = sends;
        mine[2 * i + other] = takes;
    }
    RANK_OK(me, tutti_batch_isend_irecv(me->group, mine, (size_t)2 * OUTSTANDING, NULL,
                                        works[me->rank], &me->error));
    RANK_OK(me, tutti_work_wait_all(works[me->rank], (size_t)2 * OUTSTANDING, 0, &me->error));
    for (int32_t i = 0; i < OUTSTANDING; ++i) {
        RANK_EXPECT(me, values[me->rank][1][i] == i);
        tutti_work_release(works[me->rank][2 * i]);
        tutti_work_release(works[me->rank][2 * i + 1]);
    }
}

static void thousands_of_messages_may_be_outstanding(void** state) {
    (void)state;
    RUN(2, keep_thousands_outstanding);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(a_batch_moves_messages_both_ways_in_any_mix),
        TEST(a_message_of_a_batch_that_fails_leaves_the_others_alone),
        TEST(a_batch_with_a_fault_starts_nothing_and_names_the_message),
        TEST(thousands_of_messages_may_be_outstanding),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
