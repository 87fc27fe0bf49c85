/* Operations that run while the caller goes on. The first argument is the backend. */
#include "on_ranks.h"

enum { WORKS = 20, ELEMENTS = 1000 };
static int64_t data[4][WORKS][ELEMENTS];

static void start_sums(rank_context* me, tutti_work** works) {
    for (int i = 0; i < WORKS; ++i) {
        int64_t* mine = data[me->rank][i];
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(mine, ELEMENTS, TUTTI_INT64);
        for (int at = 0; at < ELEMENTS; ++at) mine[at] = (me->rank + 1) * (i + 1) + at;
        RANK_OK(me,
                tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, &works[i], &me->error));
    }
}

static int is_sum(const rank_context* me, int i) {
    const int64_t ranks = me->size * (me->size + 1) / 2;
    for (int at = 0; at < ELEMENTS; ++at) {
        if (data[me->rank][i][at] != ranks * (i + 1) + me->size * at) return 0;
    }
    return 1;
}

static void wait_backwards(rank_context* me) {
    tutti_work* works[WORKS] = {NULL};
    start_sums(me, works);
    for (int i = WORKS; i-- > 0;) {
        int32_t completed = 0, success = 0, source = 0;
        RANK_OK(me, tutti_work_wait(works[i], 0, &me->error));
        RANK_OK(me, tutti_work_is_completed(works[i], &completed, &me->error));
        RANK_OK(me, tutti_work_is_success(works[i], &success, &me->error));
        RANK_OK(me, tutti_work_source_rank(works[i], &source, &me->error));
        RANK_OK(me, tutti_work_error(works[i], &me->error));
        RANK_EXPECT(me, completed == 1 && success == 1 && source == -1);
        RANK_EXPECT(me, is_sum(me, i));
        RANK_OK(me, tutti_work_wait(works[i], 1, &me->error)); /* again is no fault */
        tutti_work_release(works[i]);
    }
}

static void works_are_waited_for_in_any_order(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 4; ++size) RUN(size, wait_backwards);
}

static void wait_for_all(rank_context* me) {
    tutti_work* works[WORKS] = {NULL};
    start_sums(me, works);
    RANK_OK(me, tutti_work_wait_all(works, WORKS, 0, &me->error));
    for (int i = 0; i < WORKS; ++i) {
        RANK_EXPECT(me, is_sum(me, i));
        tutti_work_release(works[i]);
    }
    RANK_OK(me, tutti_work_wait_all(NULL, 0, 0, &me->error));
}

static void wait_all_ends_when_all_are_done(void** state) {
    (void)state;
    RUN(3, wait_for_all);
}

static void wait_for_any(rank_context* me) {
    tutti_work* works[WORKS] = {NULL};
    start_sums(me, works);
    int left = WORKS;
    int at[WORKS];
    for (int i = 0; i < WORKS; ++i) at[i] = i;
    while (left > 0) {
        int64_t index = WORKS;
        RANK_OK(me, tutti_work_wait_any(works, left, TUTTI_NO_TIMEOUT, &index, &me->error));
        RANK_EXPECT(me, index < left && is_sum(me, at[index]));
        tutti_work_release(works[index]);
        --left;
        works[index] = works[left];
        at[index] = at[left];
    }
}

/* Or each in its place, cleared when it has been dealt with. */
static void wait_for_any_in_place(rank_context* me) {
    tutti_work* works[WORKS] = {NULL};
    start_sums(me, works);
    for (int left = WORKS; left > 0; --left) {
        int64_t index = WORKS;
        RANK_OK(me, tutti_work_wait_any(works, WORKS, 0, &index, &me->error));
        RANK_EXPECT(me, index < WORKS && works[index] != NULL && is_sum(me, (int)index));
        tutti_work_release(works[index]);
        works[index] = NULL;
        if (left > 1) RANK_OK(me, tutti_work_wait_all(works, WORKS, 0, &me->error));
    }
    int64_t index = 7;
    RANK_STATUS(me, tutti_work_wait_any(works, WORKS, 0, &index, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_EXPECT(me, index == 7 && rank_says(me, "works are NULL"));
    RANK_OK(me, tutti_work_wait_all(works, WORKS, 0, &me->error));
}

static void wait_any_hands_out_every_work(void** state) {
    (void)state;
    RUN(3, wait_for_any);
    RUN(3, wait_for_any_in_place);
}

static void stay_behind(rank_context* me) {
    tutti_work *works[2] = {NULL, NULL}, *never;
    int32_t value = me->rank;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    if (me->rank == 1) {
        rank_await(me, "waited");
        RANK_OK(me, tutti_send(me->group, &buffer, 0, 0, NULL, NULL, &me->error));
        rank_await(me, "done"); /* or its leaving would end the receive that never ends */
        return;
    }
    int32_t completed = 7, success = 7, other = 0;
    int64_t index = 7;
    const tutti_buffer unused = TUTTI_BUFFER_INIT(&other, 1, TUTTI_INT32);
    RANK_OK(me, tutti_recv(me->group, &unused, 1, 1, NULL, NULL, &never, &me->error));
    RANK_OK(me, tutti_recv(me->group, &buffer, 1, 0, NULL, NULL, &works[1], &me->error));
    works[0] = never;
    RANK_STATUS(me, tutti_work_wait(never, 10, &me->error), TUTTI_ERR_PENDING);
    RANK_EXPECT(me, strstr(me->error.message, "still running") != NULL);
    RANK_STATUS(me, tutti_work_wait_all(works, 2, 10, &me->error), TUTTI_ERR_PENDING);
    RANK_EXPECT(me, strstr(me->error.message, "works[0]") != NULL);
    RANK_STATUS(me, tutti_work_wait_any(works, 2, 10, &index, &me->error), TUTTI_ERR_PENDING);
    RANK_EXPECT(me, index == 7);
    RANK_OK(me, tutti_work_is_completed(never, &completed, &me->error));
    RANK_OK(me, tutti_work_is_success(never, &success, &me->error));
    RANK_OK(me, tutti_work_error(never, &me->error));
    RANK_EXPECT(me, completed == 0 && success == 0);
    rank_tell(me, "waited");
    RANK_OK(me, tutti_work_wait_any(works, 2, 0, &index, &me->error));
    RANK_EXPECT(me, index == 1 && value == 1);
    rank_tell(me, "done");
    tutti_work_release(works[1]);
    /* The one that never ends is released first, then its group destroyed. */
    tutti_work_release(never);
}

static void a_wait_that_expires_leaves_the_operation_running(void** state) {
    (void)state;
    RUN(2, stay_behind);
}

static void release_early(rank_context* me) {
    tutti_work* works[WORKS] = {NULL};
    start_sums(me, works);
    for (int i = 0; i < WORKS; ++i) tutti_work_release(works[i]);
    RANK_STATUS(me, tutti_work_wait(works[0], 0, &me->error), TUTTI_ERR_INVALID_HANDLE);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error)); /* comes after all of them */
    for (int i = 0; i < WORKS; ++i) RANK_EXPECT(me, is_sum(me, i));
}

static void a_released_work_goes_on(void** state) {
    (void)state;
    RUN(3, release_early);
}

static void mix(rank_context* me) {
    for (int i = 0; i < 50; ++i) {
        int64_t value = me->rank + i;
        tutti_work* work = NULL;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
        int64_t other = me->rank == 0 ? i : -1;
        const tutti_buffer others = TUTTI_BUFFER_INIT(&other, 1, TUTTI_INT64);
        RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_MAX, NULL, &work, &me->error));
        RANK_OK(me, tutti_broadcast(me->group, &others, 0, NULL, NULL, &me->error));
        RANK_EXPECT(me, other == i && value == me->size - 1 + i);
        tutti_work_release(work);
    }
}

static void synchronous_calls_queue_behind_works(void** state) {
    (void)state;
    RUN(3, mix);
}

typedef struct note {
    rank_context* me;
    tutti_status status;
    const char* event;
    tutti_error error;
} note;

static void take_note(const tutti_error* result, void* user) {
    note* it = (note*)user;
    it->status = result->status;
    it->error = *result;
    /* A callback may call what it likes. */
    tutti_store_set(it->me->store, it->event, NULL, 0, NULL);
}

static void register_callbacks(rank_context* me) {
    int64_t value = me->rank, never_value = 0;
    tutti_work *work = NULL, *never = NULL;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    const tutti_buffer room = TUTTI_BUFFER_INIT(&never_value, 1, TUTTI_INT64);
    note early = {me, TUTTI_ERR_INTERNAL, me->rank == 0 ? "early 0" : "early 1", TUTTI_ERROR_INIT};
    note late = {me, TUTTI_ERR_INTERNAL, me->rank == 0 ? "late 0" : "late 1", TUTTI_ERROR_INIT};
    note end = {me, TUTTI_OK, me->rank == 0 ? "end 0" : "end 1", TUTTI_ERROR_INIT};
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_then(work, take_note, &early, NULL, &me->error));
    rank_await(me, early.event);
    RANK_EXPECT(me, early.status == TUTTI_OK && early.error.message[0] == '\0' && value == 1);
    RANK_OK(me, tutti_work_then(work, take_note, &late, NULL, &me->error)); /* it is done already */
    rank_await(me, late.event);
    RANK_EXPECT(me, late.status == TUTTI_OK);
    tutti_work_release(work);
    /* A receive that the end of its group ends; its work is released before. */
    RANK_OK(me, tutti_recv(me->group, &room, 1 - me->rank, 9, NULL, NULL, &never, &me->error));
    RANK_OK(me, tutti_work_then(never, take_note, &end, NULL, &me->error));
    tutti_work_release(never);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
    me->group = NULL;
    rank_await(me, end.event);
    RANK_EXPECT(me, end.status == TUTTI_ERR_ABORTED || end.status == TUTTI_ERR_PEER_LOST);
    RANK_EXPECT(me, strstr(end.error.message, "recv from rank") != NULL);
}

static void callbacks_are_called_once_the_operation_is_done(void** state) {
    (void)state;
    RUN(2, register_callbacks);
}

/* The callbacks of one work end in their order, and each `user` once, after its callback. */
typedef struct {
    rank_context* me;
    const char* event;
    const char* released;
    int calls;
    int releases;
} bell;

static void ring(void* user) {
    bell* it = (bell*)user;
    ++it->calls;
    tutti_store_set(it->me->store, it->event, NULL, 0, NULL);
}

static void ring_of_work(const tutti_error* result, void* user) {
    if (result->status == TUTTI_OK) ring(user);
}

static void release_bell(void* user) {
    bell* it = (bell*)user;
    ++it->releases;
    tutti_store_set(it->me->store, it->released, NULL, 0, NULL);
}

static void ring_when_done(rank_context* me) {
    int64_t value = 1, room = 0;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    bell done = {me, me->rank == 0 ? "done 0" : "done 1", NULL, 0, 0};
    bell batch = {me, me->rank == 0 ? "batch 0" : "batch 1", NULL, 0, 0};
    bell then = {me, me->rank == 0 ? "then 0" : "then 1", me->rank == 0 ? "end 0" : "end 1", 0, 0};
    bell refused = {me, "never", "never", 0, 0};
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_work *work = NULL, *works[2] = {NULL, NULL};
    const int32_t other = 1 - me->rank;
    const tutti_p2p_op ops[] = {TUTTI_P2P_OP_INIT(TUTTI_ISEND, &value, 1, TUTTI_INT64, other, 3),
                                TUTTI_P2P_OP_INIT(TUTTI_IRECV, &room, 1, TUTTI_INT64, other, 3)};
    options.on_done = ring;
    options.on_done_user = &done;
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, &options, &work, &me->error));
    rank_await(me, done.event);
    RANK_EXPECT(me, done.calls == 1 && value == 2);
    RANK_OK(me, tutti_work_then(work, ring_of_work, &then, release_bell, &me->error));
    rank_await(me, then.released);
    RANK_EXPECT(me, then.calls == 1 && then.releases == 1);
    tutti_work_release(work);
    RANK_STATUS(me, tutti_work_then(work, ring_of_work, &refused, release_bell, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    options.on_done_user = &batch;
    RANK_OK(me, tutti_batch_isend_irecv(me->group, ops, 2, &options, works, &me->error));
    rank_await(me, batch.event);
    RANK_OK(me, tutti_work_wait_all(works, 2, 0, &me->error));
    RANK_EXPECT(me, batch.calls == 1 && room == 2);
    for (int i = 0; i < 2; ++i) tutti_work_release(works[i]);
    options.on_done_user = &refused;
    RANK_STATUS(me, tutti_barrier(me->group, &options, NULL, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_EXPECT(me, refused.calls == 0 && refused.releases == 0);
}

static void a_call_can_say_when_it_is_done(void** state) {
    (void)state;
    RUN(2, ring_when_done);
}

static void cancel_receives(rank_context* me) {
    int64_t value = 42, first = -1, second = -1;
    int32_t cancelled = 7;
    tutti_work *lost = NULL, *kept = NULL;
    const tutti_buffer to = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    const tutti_buffer early = TUTTI_BUFFER_INIT(&first, 1, TUTTI_INT64);
    const tutti_buffer late = TUTTI_BUFFER_INIT(&second, 1, TUTTI_INT64);
    if (me->rank == 1) {
        rank_await(me, "cancelled");
        RANK_OK(me, tutti_send(me->group, &to, 0, 5, NULL, NULL, &me->error));
        RANK_OK(me, tutti_send_bytes(me->group, "a", 1, 0, 6, NULL, NULL, &me->error));
        return;
    }
    tutti_work *text = NULL, *any = NULL;
    tutti_bytes* bytes = NULL;
    RANK_OK(me, tutti_recv(me->group, &early, 1, 5, NULL, NULL, &lost, &me->error));
    RANK_OK(me, tutti_recv(me->group, &late, 1, 5, NULL, NULL, &kept, &me->error));
    RANK_OK(me, tutti_recv_bytes(me->group, 1, 6, 0, NULL, NULL, NULL, &text, &me->error));
    RANK_OK(me, tutti_recv(me->group, &early, -1, 8, NULL, NULL, &any, &me->error));
    RANK_OK(me, tutti_work_cancel(lost, &cancelled, &me->error));
    RANK_EXPECT(me, cancelled == 1);
    RANK_STATUS(me, tutti_work_wait(lost, 0, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "recv from rank 1 (tag 5)");
    RANK_SAYS(me, "it was cancelled");
    RANK_OK(me, tutti_work_cancel(lost, &cancelled, &me->error)); /* it is done */
    RANK_EXPECT(me, cancelled == 0);
    RANK_OK(me, tutti_work_cancel(text, &cancelled, &me->error));
    RANK_EXPECT(me, cancelled == 1);
    RANK_STATUS(me, tutti_work_wait(text, 0, &me->error), TUTTI_ERR_ABORTED);
    RANK_STATUS(me, tutti_work_take_bytes(text, &bytes, 1, &me->error), TUTTI_ERR_ABORTED);
    RANK_OK(me, tutti_work_cancel(any, &cancelled, &me->error));
    RANK_EXPECT(me, cancelled == 1);
    RANK_STATUS(me, tutti_work_wait(any, 0, &me->error), TUTTI_ERR_ABORTED);
    rank_tell(me, "cancelled");
    RANK_OK(me, tutti_work_wait(kept, 0, &me->error));
    RANK_EXPECT(me, first == -1 && second == 42);
    RANK_OK(me, tutti_work_cancel(kept, &cancelled, &me->error));
    RANK_EXPECT(me, cancelled == 0);
    RANK_OK(me, tutti_recv_bytes(me->group, 1, 6, 0, NULL, &bytes, NULL, NULL, &me->error));
    RANK_EXPECT(me, tutti_bytes_size(bytes) == 1);
    tutti_bytes_release(bytes);
    tutti_work_release(lost);
    tutti_work_release(kept);
    tutti_work_release(text);
    tutti_work_release(any);
}

static void a_receive_that_waits_can_be_cancelled(void** state) {
    (void)state;
    RUN(2, cancel_receives);
}

static void describe_works(rank_context* me) {
    int64_t value = 0, out = 1, in = 0;
    tutti_work *works[2] = {NULL, NULL}, *sent = NULL, *received = NULL;
    int64_t number = 77;
    double took = -7;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    const tutti_buffer to = TUTTI_BUFFER_INIT(&out, 1, TUTTI_INT64);
    const tutti_buffer from = TUTTI_BUFFER_INIT(&in, 1, TUTTI_INT64);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, &works[0], &me->error));
    RANK_OK(me, tutti_barrier(me->group, NULL, &works[1], &me->error));
    RANK_OK(me, tutti_recv(me->group, &from, me->rank, 0, NULL, NULL, &received, &me->error));
    RANK_EXPECT(me, strcmp(tutti_work_get_op_type(works[0]), "all_reduce") == 0);
    RANK_EXPECT(me, strcmp(tutti_work_get_op_type(works[1]), "barrier") == 0);
    RANK_EXPECT(me, strcmp(tutti_work_get_op_type(received), "recv") == 0);
    RANK_OK(me, tutti_work_get_sequence_number(works[0], &number, &me->error));
    RANK_EXPECT(me, number == 2);
    RANK_OK(me, tutti_work_get_sequence_number(works[1], &number, &me->error));
    RANK_EXPECT(me, number == 3);
    RANK_OK(me, tutti_work_get_sequence_number(received, &number, &me->error));
    RANK_EXPECT(me, number == 0);
    RANK_OK(me, tutti_work_get_duration(received, &took, &me->error));
    RANK_EXPECT(me, took == -1);
    RANK_OK(me, tutti_send(me->group, &to, me->rank, 0, NULL, &sent, &me->error));
    RANK_EXPECT(me, strcmp(tutti_work_get_op_type(sent), "send") == 0);
    RANK_OK(me, tutti_work_wait(received, 0, &me->error));
    RANK_OK(me, tutti_work_get_duration(received, &took, &me->error));
    RANK_EXPECT(me, took > 0 && took < 600000);
    RANK_OK(me, tutti_work_wait_all(works, 2, 0, &me->error));
    for (int i = 0; i < 2; ++i) tutti_work_release(works[i]);
    tutti_work_release(sent);
    tutti_work_release(received);
}

static void a_work_tells_what_it_is(void** state) {
    (void)state;
    RUN(1, describe_works);
    RUN(3, describe_works);
}

static void arguments_that_are_wrong_are_named(void** state) {
    (void)state;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    tutti_work* work = NULL;
    tutti_object* object = NULL;
    tutti_bytes* bytes = NULL;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    int32_t cancelled = 7;
    int64_t index = 0;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_group_create(backend, store, NULL, 0, 1, NULL, &group, &error));
    EXPECT_OK(tutti_barrier(group, NULL, &work, &error));
    EXPECT_ERROR(tutti_work_wait(work, -2, &error), bad, "timeout_ms is -2");
    EXPECT_ERROR(tutti_work_is_completed(work, NULL, &error), bad, "out_completed is NULL");
    EXPECT_ERROR(tutti_work_is_success(work, NULL, &error), bad, "out_success is NULL");
    EXPECT_ERROR(tutti_work_source_rank(work, NULL, &error), bad, "out_rank is NULL");
    EXPECT_ERROR(tutti_work_then(work, NULL, NULL, NULL, &error), bad, "callback is NULL");
    EXPECT_ERROR(tutti_work_get_sequence_number(work, NULL, &error), bad, "out_number is NULL");
    EXPECT_ERROR(tutti_work_get_duration(work, NULL, &error), bad, "out_ms is NULL");
    EXPECT_ERROR(tutti_work_wait_any(&work, 0, 0, &index, &error), bad, "count is 0");
    EXPECT_ERROR(tutti_work_wait_any(NULL, 1, 0, &index, &error), bad, "works is NULL");
    EXPECT_ERROR(tutti_work_wait_any(&work, 1, -2, &index, &error), bad, "timeout_ms is -2");
    EXPECT_ERROR(tutti_work_wait_any(&work, 1, 0, NULL, &error), bad, "out_index is NULL");
    EXPECT_ERROR(tutti_work_wait_all(NULL, 1, 0, &error), bad, "works is NULL");
    EXPECT_ERROR(tutti_work_wait_all(&work, 1, -2, &error), bad, "timeout_ms is -2");
    EXPECT_ERROR(tutti_work_wait_any(&work, -1, 0, &index, &error), bad, "count is -1");
    EXPECT_ERROR(tutti_work_wait_all(&work, -1, 0, &error), bad, "count is -1");
    EXPECT_ERROR(tutti_work_cancel(work, NULL, &error), bad, "out_cancelled is NULL");
    EXPECT_ERROR(tutti_work_cancel(work, &cancelled, &error), TUTTI_ERR_UNSUPPORTED,
                 "work is of barrier");
    EXPECT_ERROR(tutti_work_synchronize(work, &cancelled, &error), bad,
                 "stream is given, and the operation has no buffers on a device");
    EXPECT_ERROR(tutti_work_take_objects(work, &object, 1, &error), bad, "receives no objects");
    EXPECT_ERROR(tutti_work_take_bytes(work, &bytes, 1, &error), bad, "receives no bytes");
    options.stream = &cancelled;
    EXPECT_ERROR(tutti_barrier(group, &options, NULL, &error), bad, "options.stream is given");
    options.stream = NULL;
    options.on_done = ring;
    EXPECT_ERROR(tutti_barrier(group, &options, NULL, &error), bad, "options.on_done");
    EXPECT_OK(tutti_work_synchronize(work, NULL, &error));
    EXPECT_OK(tutti_work_wait(work, 0, &error));
    tutti_work_release(work);
    /* Also before its end, for which the program would wait in vain. */
    double number = 0;
    tutti_buffer buffer = TUTTI_BUFFER_INIT(&number, 1, TUTTI_FLOAT64);
    EXPECT_OK(tutti_recv(group, &buffer, 0, 0, NULL, NULL, &work, &error));
    EXPECT_ERROR(tutti_work_synchronize(work, &number, &error), bad,
                 "stream is given, and the operation has no buffers on a device");
    EXPECT_OK(tutti_work_cancel(work, &cancelled, &error));
    assert_int_equal(cancelled, 1);
    tutti_work_release(work);
    tutti_group_release(group);
    tutti_store_release(store);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(works_are_waited_for_in_any_order),
        TEST(wait_all_ends_when_all_are_done),
        TEST(wait_any_hands_out_every_work),
        TEST(a_wait_that_expires_leaves_the_operation_running),
        TEST(a_released_work_goes_on),
        TEST(synchronous_calls_queue_behind_works),
        TEST(callbacks_are_called_once_the_operation_is_done),
        TEST(a_call_can_say_when_it_is_done),
        TEST(a_receive_that_waits_can_be_cancelled),
        TEST(a_work_tells_what_it_is),
        TEST(arguments_that_are_wrong_are_named),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
