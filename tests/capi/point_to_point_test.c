/* Messages between ranks that are threads. The first argument is the backend. */
#include <stdlib.h>

#include "on_ranks.h"

enum { MANY = 100000 };
typedef struct message {
    int32_t elements[MANY];
} message;
static message sent[4], received[4];

static tutti_buffer int32s(void* data, int64_t count) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, TUTTI_INT32);
    return buffer;
}

static void pass_on(rank_context* me) {
    const int32_t next = (me->rank + 1) % me->size, last = (me->rank + me->size - 1) % me->size;
    const int64_t counts[] = {0, 1, 1000, MANY};
    for (int i = 0; i < 4; ++i) {
        tutti_work* work = NULL;
        int32_t source = -7;
        const tutti_buffer out = int32s(&sent[me->rank], counts[i]);
        const tutti_buffer in = int32s(&received[me->rank], counts[i]);
        for (int64_t at = 0; at < counts[i]; ++at) {
            sent[me->rank].elements[at] = (int32_t)at * 10 + me->rank;
        }
        memset(&received[me->rank], 0x55, sizeof received[0]);
        RANK_OK(me, tutti_send(me->group, &out, next, i, NULL, &work, &me->error));
        RANK_OK(me, tutti_recv(me->group, &in, last, i, NULL, &source, NULL, &me->error));
        RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        tutti_work_release(work);
        RANK_EXPECT(me, source == last);
        for (int64_t at = 0; at < counts[i]; ++at) {
            RANK_EXPECT(me, received[me->rank].elements[at] == (int32_t)at * 10 + last);
        }
        RANK_EXPECT(me, counts[i] == MANY || received[me->rank].elements[counts[i]] == 0x55555555);
    }
}

static void messages_arrive_whole(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, pass_on);
}

static void send_in_order(rank_context* me) {
    for (int32_t i = 0; i < 50; ++i) {
        int32_t value = me->rank == 0 ? i : -1;
        const tutti_buffer buffer = int32s(&value, 1);
        if (me->rank == 0) {
            RANK_OK(me, tutti_send(me->group, &buffer, 1, 3, NULL, NULL, &me->error));
        } else {
            RANK_OK(me, tutti_recv(me->group, &buffer, 0, 3, NULL, NULL, NULL, &me->error));
        }
        RANK_EXPECT(me, value == i);
    }
}

static void messages_with_one_tag_arrive_in_order(void** state) {
    (void)state;
    RUN(2, send_in_order);
}

static void send_across_tags(rank_context* me) {
    int32_t values[3] = {0, 10, 20};
    tutti_work* works[3] = {NULL, NULL, NULL};
    for (int32_t i = 0; i < 3; ++i) {
        int32_t tag = me->rank == 0 ? i : 2 - i;
        const tutti_buffer buffer = int32s(&values[tag], 1);
        if (me->rank == 0) {
            RANK_OK(me, tutti_send(me->group, &buffer, 1, tag, NULL, &works[i], &me->error));
        } else {
            values[tag] = -1;
            RANK_OK(me, tutti_recv(me->group, &buffer, 0, tag, NULL, NULL, NULL, &me->error));
            RANK_EXPECT(me, values[tag] == 10 * tag);
        }
    }
    if (me->rank == 0) RANK_OK(me, tutti_work_wait_all(works, 3, 0, &me->error));
    for (int i = 0; i < 3; ++i) tutti_work_release(works[i]);
}

static void messages_find_the_receive_with_their_tag(void** state) {
    (void)state;
    RUN(2, send_across_tags);
}

static void receive_from_any(rank_context* me) {
    int32_t value = me->rank;
    const tutti_buffer buffer = int32s(&value, 1);
    if (me->rank != 0) {
        RANK_OK(me, tutti_send(me->group, &buffer, 0, 0, NULL, NULL, &me->error));
        return;
    }
    int32_t seen = 1;
    for (int32_t i = 1; i < me->size; ++i) {
        int32_t source = -1;
        if (i % 2 == 1) {
            RANK_OK(me, tutti_recv(me->group, &buffer, -1, 0, NULL, &source, NULL, &me->error));
        } else {
            tutti_work* work = NULL;
            RANK_OK(me, tutti_recv(me->group, &buffer, -1, 0, NULL, NULL, &work, &me->error));
            RANK_OK(me, tutti_work_wait(work, 0, &me->error));
            RANK_OK(me, tutti_work_source_rank(work, &source, &me->error));
            tutti_work_release(work);
        }
        RANK_EXPECT(me, source == value && source > 0 && source < me->size);
        seen |= 1 << source;
    }
    RANK_EXPECT(me, seen == (1 << me->size) - 1);
}

static void a_receive_from_any_rank_tells_whose_message_it_got(void** state) {
    (void)state;
    for (int32_t size = 2; size <= 4; ++size) RUN(size, receive_from_any);
}

static void wait_outside_the_order(rank_context* me) {
    int32_t value = me->rank;
    tutti_work* work = NULL;
    const tutti_buffer buffer = int32s(&value, 1);
    if (me->rank == 0) {
        int32_t source = 0;
        RANK_OK(me, tutti_recv(me->group, &buffer, 1, 0, NULL, NULL, &work, &me->error));
        RANK_OK(me, tutti_work_source_rank(work, &source, &me->error));
        RANK_EXPECT(me, source == -1);
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    if (me->rank == 1) {
        RANK_OK(me, tutti_send(me->group, &buffer, 0, 0, NULL, NULL, &me->error));
    } else {
        RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        RANK_EXPECT(me, value == 1);
    }
    tutti_work_release(work);
}

static void a_receive_that_waits_holds_up_nothing(void** state) {
    (void)state;
    RUN(2, wait_outside_the_order);
}

static void send_to_oneself(rank_context* me) {
    int32_t out = 42, in = 0;
    const tutti_buffer to = int32s(&out, 1), from = int32s(&in, 1);
    tutti_work *work = NULL, *receive = NULL;
    RANK_STATUS(me, tutti_send(me->group, &to, me->rank, 0, NULL, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_OK(me, tutti_send(me->group, &to, me->rank, 0, NULL, &work, &me->error));
    RANK_STATUS(me, tutti_recv(me->group, &from, me->rank, 0, NULL, NULL, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_OK(me, tutti_recv(me->group, &from, me->rank, 0, NULL, NULL, &receive, &me->error));
    RANK_OK(me, tutti_work_wait(receive, 0, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(receive);
    tutti_work_release(work);
    RANK_EXPECT(me, in == 42);
}

static void a_rank_can_send_itself_a_message_with_a_work(void** state) {
    (void)state;
    RUN(1, send_to_oneself);
    RUN(2, send_to_oneself);
}

static void expect_another_count(rank_context* me) {
    int32_t values[4] = {1, 2, 3, 4};
    const tutti_buffer three = int32s(values, 3), four = int32s(values, 4);
    if (me->rank == 0) {
        RANK_OK(me, tutti_send(me->group, &three, 1, 0, NULL, NULL, &me->error));
        RANK_OK(me, tutti_send(me->group, &four, 1, 0, NULL, NULL, &me->error));
        return;
    }
    RANK_STATUS(me, tutti_recv(me->group, &four, 0, 0, NULL, NULL, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_EXPECT(me, strstr(me->error.message, "3") != NULL);
    RANK_EXPECT(me, strstr(me->error.message, "4") != NULL);
    RANK_OK(me, tutti_recv(me->group, &four, 0, 0, NULL, NULL, NULL, &me->error));
}

static void a_message_of_another_count_is_a_mismatch_and_consumed(void** state) {
    (void)state;
    RUN(2, expect_another_count);
}

static void receive_too_early(rank_context* me) {
    int32_t value = 7;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    const tutti_buffer buffer = int32s(&value, 1);
    options.timeout_ms = 20;
    if (me->rank == 0) {
        RANK_STATUS(me, tutti_recv(me->group, &buffer, 1, 0, &options, NULL, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
        rank_tell(me, "timed out");
        value = 0;
        RANK_OK(me, tutti_recv(me->group, &buffer, 1, 0, NULL, NULL, NULL, &me->error));
        RANK_EXPECT(me, value == 7);
    } else {
        rank_await(me, "timed out");
        RANK_OK(me, tutti_send(me->group, &buffer, 0, 0, NULL, NULL, &me->error));
    }
}

static void a_message_after_a_timeout_goes_to_the_next_receive(void** state) {
    (void)state;
    RUN(2, receive_too_early);
}

/* The receive has begun when its time is up: it gets the data, though they come in slowly. */
static void receive_what_has_begun(rank_context* me) {
    enum { LONG = 32 << 20 };
    int32_t* values = (int32_t*)calloc(LONG / 4, 4);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    const tutti_buffer buffer = int32s(values, LONG / 4);
    int64_t arrived = 0, lost = 0;
    options.timeout_ms = 2; /* shorter than the data take, or the message was not found in time */
    tutti_status status = TUTTI_OK;
    for (int turn = 0; turn < 12 && status == TUTTI_OK; ++turn) {
        for (int32_t i = 0; i < LONG / 4; i += 1021) values[i] = me->rank == 0 ? turn + i : -1;
        if (me->rank == 0) {
            status = tutti_send(me->group, &buffer, 1, 0, NULL, NULL, &me->error);
            continue;
        }
        do {
            status = tutti_recv(me->group, &buffer, 0, 0, &options, NULL, NULL, &me->error);
        } while (status == TUTTI_ERR_TIMEOUT);
        for (int32_t i = 0; i < LONG / 4; i += 1021) lost += values[i] != turn + i;
        ++arrived;
    }
    free(values);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, lost == 0 && (me->rank == 0 || arrived == 12));
}

static void a_time_out_loses_no_message(void** state) {
    (void)state;
    RUN(2, receive_what_has_begun);
}

/* Sends that give up, again and again, against receives that do: what a send that succeeded had is
 * received, what timed out is not, and the group lives on. */
static void send_until_it_succeeds(rank_context* me) {
    enum { ELEMENTS = 1 << 20 };
    int32_t* values = (int32_t*)calloc(ELEMENTS, 4);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    const tutti_buffer buffer = int32s(values, ELEMENTS);
    tutti_status status = TUTTI_OK;
    int64_t lost = 0;
    for (int32_t turn = 0; turn < 20 && status == TUTTI_OK; ++turn) {
        do {
            options.timeout_ms = 1 + turn % 3;
            values[0] = values[ELEMENTS - 1] = me->rank == 0 ? turn : -1;
            status = me->rank == 0
                         ? tutti_send(me->group, &buffer, 1, 0, &options, NULL, &me->error)
                         : tutti_recv(me->group, &buffer, 0, 0, &options, NULL, NULL, &me->error);
        } while (status == TUTTI_ERR_TIMEOUT);
        lost += values[0] != turn || values[ELEMENTS - 1] != turn;
    }
    free(values);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, lost == 0);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void a_send_that_timed_out_was_never_sent_and_the_group_lives(void** state) {
    (void)state;
    RUN(2, send_until_it_succeeds);
}

static void refuse_arguments(rank_context* me) {
    int32_t value = 0, source = 0;
    tutti_work* work = NULL;
    const tutti_buffer buffer = int32s(&value, 1);
    tutti_group* group = me->group;
    tutti_error* error_ = &me->error;
#define REFUSED(call, fragment) RANK_REFUSES(me, call, fragment)
    REFUSED(tutti_send(group, NULL, 0, 0, NULL, NULL, error_), "tutti_send: buffer is NULL");
    REFUSED(tutti_send(group, &buffer, 2, 0, NULL, NULL, error_), "group_dst is 2");
    REFUSED(tutti_send(group, &buffer, -1, 0, NULL, NULL, error_), "group_dst is -1");
    REFUSED(tutti_send(group, &buffer, 1 - me->rank, -1, NULL, NULL, error_), "tag is -1");
    REFUSED(tutti_recv(group, NULL, 0, 0, NULL, NULL, NULL, error_), "tutti_recv: buffer is NULL");
    REFUSED(tutti_recv(group, &buffer, 2, 0, NULL, NULL, NULL, error_), "group_src is 2");
    REFUSED(tutti_recv(group, &buffer, -2, 0, NULL, NULL, NULL, error_), "group_src is -2");
    REFUSED(tutti_recv(group, &buffer, -1, -1, NULL, NULL, NULL, error_), "tag is -1");
    REFUSED(tutti_recv(group, &buffer, 0, 0, NULL, &source, &work, error_), "out_group_src");
    RANK_EXPECT(me, work == NULL);
}

static void arguments_that_are_wrong_are_named(void** state) {
    (void)state;
    RUN(2, refuse_arguments);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(messages_arrive_whole),
        TEST(messages_with_one_tag_arrive_in_order),
        TEST(messages_find_the_receive_with_their_tag),
        TEST(a_receive_from_any_rank_tells_whose_message_it_got),
        TEST(a_receive_that_waits_holds_up_nothing),
        TEST(a_rank_can_send_itself_a_message_with_a_work),
        TEST(a_message_of_another_count_is_a_mismatch_and_consumed),
        TEST(a_message_after_a_timeout_goes_to_the_next_receive),
        TEST(a_time_out_loses_no_message),
        TEST(a_send_that_timed_out_was_never_sent_and_the_group_lives),
        TEST(arguments_that_are_wrong_are_named),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
