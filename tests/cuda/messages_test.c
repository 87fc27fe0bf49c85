/* Messages from and to devices: their order, their ways, their ends. Gates hold streams back. The
 * first argument is the backend. */
#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 1000, MANY = 20 };

static tutti_call_options on_stream(void* stream) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = stream;
    return options;
}

static tutti_buffer on_cpu(int32_t* numbers, int64_t count) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_INT32);
    return buffer;
}

static void fill(int32_t* numbers, int32_t value) {
    for (int i = 0; i < COUNT; ++i) numbers[i] = value;
}

static void wait_and_release(rank_context* me, tutti_work* work) {
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
}

/* Messages of the CPU do not pass those that wait for a device, nor do later ones of the device. */
static void send_behind_a_gate(rank_context* me) {
    const int32_t device = use_device(me);
    if (me->rank == 0) {
        void* const stream = cuda_make_stream();
        gate* const held = gate_make();
        const tutti_call_options options = on_stream(stream);
        int32_t here[COUNT];
        int32_t *const first = numbers_of(COUNT, -1), *const ones = numbers_of(COUNT, 1);
        int32_t* const third = numbers_of(COUNT, 3);
        const tutti_buffer from_first = on_cuda(device, first, COUNT, TUTTI_INT32);
        const tutti_buffer from_second = on_cpu(here, COUNT);
        const tutti_buffer from_third = on_cuda(device, third, COUNT, TUTTI_INT32);
        tutti_work* works[3];
        int32_t completed = 1;
        fill(here, 2);
        gate_close(held, stream);
        cuda_copy(first, ones, COUNT * sizeof *first, stream);
        RANK_OK(me, tutti_send(me->group, &from_first, 1, 0, &options, &works[0], &me->error));
        RANK_OK(me, tutti_send(me->group, &from_second, 1, 0, NULL, &works[1], &me->error));
        RANK_OK(me, tutti_send(me->group, &from_third, 1, 0, NULL, &works[2], &me->error));
        for (int i = 0; i < 3; ++i) {
            RANK_OK(me, tutti_work_is_completed(works[i], &completed, &me->error));
            RANK_EXPECT(me, !completed);
        }
        gate_open(held);
        for (int i = 0; i < 3; ++i) wait_and_release(me, works[i]);
        cuda_wait(stream);
        cuda_end_stream(stream);
        cuda_free(first);
        cuda_free(ones);
        cuda_free(third);
        gate_end(held);
    } else {
        for (int32_t message = 1; message <= 3; ++message) {
            int32_t here[COUNT];
            const tutti_buffer buffer = on_cpu(here, COUNT);
            RANK_OK(me, tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, NULL, &me->error));
            RANK_EXPECT(me, here[0] == message && here[COUNT - 1] == message);
        }
    }
}

RANK_TEST(send_behind_a_gate, 2)

/* Messages to another rank, or with another tag, need not wait for the device. Those that must have
 * their timeouts. */
static void send_beside_a_gate(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t here[COUNT];
    const tutti_buffer buffer = on_cpu(here, COUNT);
    fill(here, me->rank);
    if (me->rank == 0) {
        void* const stream = cuda_make_stream();
        gate* const held = gate_make();
        const tutti_call_options options = on_stream(stream);
        tutti_call_options short_time = TUTTI_CALL_OPTIONS_INIT;
        int32_t* const numbers = numbers_of(COUNT, 7);
        const tutti_buffer gated = on_cuda(device, numbers, COUNT, TUTTI_INT32);
        tutti_work* work = NULL;
        short_time.timeout_ms = 50;
        gate_close(held, stream);
        RANK_OK(me, tutti_send(me->group, &gated, 1, 0, &options, &work, &me->error));
        RANK_OK(me, tutti_send(me->group, &buffer, 1, 1, NULL, NULL, &me->error));
        RANK_OK(me, tutti_send(me->group, &buffer, 2, 0, NULL, NULL, &me->error));
        RANK_STATUS(me, tutti_send(me->group, &buffer, 1, 0, &short_time, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
        rank_tell(me, "beside");
        rank_await(me, "received");
        gate_open(held);
        wait_and_release(me, work);
        cuda_wait(stream);
        cuda_end_stream(stream);
        cuda_free(numbers);
        gate_end(held);
    } else {
        RANK_OK(me, tutti_recv(me->group, &buffer, 0, me->rank == 1 ? 1 : 0, NULL, NULL, NULL,
                               &me->error));
        RANK_EXPECT(me, here[0] == 0 && here[COUNT - 1] == 0);
        rank_await(me, "beside");
        if (me->rank == 1) {
            rank_tell(me, "received");
            RANK_OK(me, tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, NULL, &me->error));
            RANK_EXPECT(me, here[0] == 7 && here[COUNT - 1] == 7);
        }
    }
}

RANK_TEST(send_beside_a_gate, 3)

/* A call that returns when it has sent is behind them, too. */
static void send_at_once_behind_a_gate(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t here[COUNT];
    const tutti_buffer buffer = on_cpu(here, COUNT);
    if (me->rank == 0) {
        void* const stream = cuda_make_stream();
        const tutti_call_options options = on_stream(stream);
        int32_t* const numbers = numbers_of(COUNT, 0);
        const tutti_buffer started = on_cuda(device, numbers, COUNT, TUTTI_INT32);
        for (int32_t turn = 0; turn < MANY; ++turn) {
            int32_t* const next = numbers_of(COUNT, 2 * turn);
            tutti_work* work = NULL;
            cuda_copy(numbers, next, COUNT * sizeof *next, stream);
            RANK_OK(me, tutti_send(me->group, &started, 1, 0, &options, &work, &me->error));
            fill(here, 2 * turn + 1);
            RANK_OK(me, tutti_send(me->group, &buffer, 1, 0, NULL, NULL, &me->error));
            wait_and_release(me, work);
            cuda_wait(stream);
            cuda_free(next);
        }
        cuda_end_stream(stream);
        cuda_free(numbers);
    } else {
        for (int32_t message = 0; message < 2 * MANY; ++message) {
            RANK_OK(me, tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, NULL, &me->error));
            RANK_EXPECT(me, here[0] == message && here[COUNT - 1] == message);
        }
    }
}

RANK_TEST(send_at_once_behind_a_gate, 2)

/* From any memory to any other, with and without a work. */
static void send_from_one_kind_of_memory_to_another(rank_context* me) {
    const int32_t device = use_device(me);
    for (int way = 0; way < 8; ++way) {
        const int from_cuda = way & 1, to_cuda = way & 2, started = way & 4;
        int32_t here[COUNT];
        int32_t* const there = numbers_of(COUNT, me->rank == 0 ? way : -1);
        const int is_on_cuda = me->rank == 0 ? from_cuda : to_cuda;
        const tutti_buffer buffer =
            is_on_cuda ? on_cuda(device, there, COUNT, TUTTI_INT32) : on_cpu(here, COUNT);
        tutti_work* work = NULL;
        int32_t source = -1;
        fill(here, me->rank == 0 ? way : -1);
        if (me->rank == 0) {
            RANK_OK(me, tutti_send(me->group, &buffer, 1, way, NULL, started ? &work : NULL,
                                   &me->error));
        } else if (started) {
            RANK_OK(me, tutti_recv(me->group, &buffer, -1, way, NULL, NULL, &work, &me->error));
        } else {
            RANK_OK(me, tutti_recv(me->group, &buffer, -1, way, NULL, &source, NULL, &me->error));
            RANK_EXPECT(me, source == 0);
        }
        if (started) {
            RANK_OK(me, tutti_work_wait(work, 0, &me->error));
            if (me->rank == 1) {
                RANK_OK(me, tutti_work_source_rank(work, &source, &me->error));
                RANK_EXPECT(me, source == 0);
            }
            tutti_work_release(work);
        }
        if (is_on_cuda) {
            RANK_EXPECT(me, all_are(there, COUNT, way));
        } else {
            RANK_EXPECT(me, here[0] == way && here[COUNT - 1] == way);
        }
        cuda_free(there);
    }
}

RANK_TEST(send_from_one_kind_of_memory_to_another, 2)

static void send_a_batch(rank_context* me) {
    const int32_t device = use_device(me);
    const int32_t next = (me->rank + 1) % me->size, last = (me->rank + me->size - 1) % me->size;
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    for (int background = 0; background < 2; ++background) {
        int32_t *sent[MANY], *received[MANY];
        tutti_p2p_op ops[2 * MANY];
        tutti_work* works[2 * MANY];
        for (int i = 0; i < MANY; ++i) {
            tutti_p2p_op send = TUTTI_P2P_OP_INIT(TUTTI_ISEND, NULL, 0, TUTTI_INT32, next, 0);
            tutti_p2p_op receive = TUTTI_P2P_OP_INIT(TUTTI_IRECV, NULL, 0, TUTTI_INT32, last, 0);
            sent[i] = numbers_of(COUNT, 100 * me->rank + i);
            received[i] = numbers_of(COUNT, -1);
            send.buffer = on_cuda(device, sent[i], COUNT, TUTTI_INT32);
            receive.buffer = on_cuda(device, received[i], COUNT, TUTTI_INT32);
            ops[i] = send;
            ops[MANY + i] = receive;
        }
        RANK_OK(me, tutti_batch_isend_irecv(me->group, ops, 2 * MANY, &options,
                                            background ? works : NULL, &me->error));
        if (background) {
            RANK_OK(me, tutti_work_wait_all(works, 2 * MANY, 0, &me->error));
            for (int i = 0; i < 2 * MANY; ++i) tutti_work_release(works[i]);
        }
        cuda_wait(stream);
        for (int i = 0; i < MANY; ++i) {
            RANK_EXPECT(me, all_are(received[i], COUNT, 100 * last + i));
            cuda_free(received[i]);
            cuda_free(sent[i]);
        }
    }
    cuda_end_stream(stream);
}

RANK_TEST(send_a_batch, 3)

static void cancel_a_receive(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 7);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_work* work = NULL;
    int32_t cancelled = 0;
    RANK_OK(me, tutti_recv(me->group, &buffer, 1 - me->rank, 3, NULL, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_cancel(work, &cancelled, &me->error));
    RANK_EXPECT(me, cancelled == 1);
    RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_ABORTED);
    tutti_work_release(work);
    RANK_EXPECT(me, all_are(numbers, COUNT, 7));
    /* The next message finds the next receive, once both are cancelled. */
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    int32_t here[COUNT];
    const tutti_buffer sent = on_cpu(here, COUNT);
    fill(here, 8);
    RANK_OK(me, tutti_send(me->group, &sent, 1 - me->rank, 3, NULL, &work, &me->error));
    RANK_OK(me, tutti_recv(me->group, &buffer, 1 - me->rank, 3, NULL, NULL, NULL, &me->error));
    wait_and_release(me, work);
    RANK_EXPECT(me, all_are(numbers, COUNT, 8));
    cuda_free(numbers);
}

RANK_TEST(cancel_a_receive, 2)

/* One whose message has come, and waits for its stream, cannot be cancelled any more. */
static void cancel_a_receive_that_has_its_message(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = cuda_make_stream();
    gate* const held = gate_make();
    const tutti_call_options options = on_stream(stream);
    int32_t* const numbers = numbers_of(COUNT, 7);
    int32_t here[COUNT];
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    const tutti_buffer sent = on_cpu(here, COUNT);
    tutti_work *work = NULL, *sending = NULL;
    int32_t cancelled = 1;
    fill(here, 8);
    gate_close(held, stream);
    RANK_OK(me, tutti_recv(me->group, &buffer, me->rank, 0, &options, NULL, &work, &me->error));
    RANK_OK(me, tutti_send(me->group, &sent, me->rank, 0, NULL, &sending, &me->error));
    wait_and_release(me, sending);
    RANK_OK(me, tutti_work_cancel(work, &cancelled, &me->error));
    RANK_EXPECT(me, cancelled == 0);
    RANK_STATUS(me, tutti_work_wait(work, 5, &me->error), TUTTI_ERR_PENDING);
    gate_open(held);
    wait_and_release(me, work);
    RANK_EXPECT(me, all_are(numbers, COUNT, 8));
    cuda_wait(stream);
    cuda_end_stream(stream);
    cuda_free(numbers);
    gate_end(held);
}

RANK_TEST(cancel_a_receive_that_has_its_message, 2)

static void send_to_itself(rank_context* me) {
    const int32_t device = use_device(me);
    for (int turn = 0; turn < 2; ++turn) {
        int32_t* const from = numbers_of(COUNT, 4);
        int32_t* const to = numbers_of(COUNT, -1);
        const tutti_buffer sent = on_cuda(device, from, COUNT, TUTTI_INT32);
        const tutti_buffer received = on_cuda(device, to, COUNT, TUTTI_INT32);
        tutti_work* works[2];
        for (int step = 0; step < 2; ++step) {
            if (step == turn) {
                RANK_OK(me, tutti_send(me->group, &sent, me->rank, 0, NULL, &works[0], &me->error));
            } else {
                RANK_OK(me, tutti_recv(me->group, &received, me->rank, 0, NULL, NULL, &works[1],
                                       &me->error));
            }
        }
        wait_and_release(me, works[0]);
        wait_and_release(me, works[1]);
        RANK_EXPECT(me, all_are(to, COUNT, 4));
        cuda_free(from);
        cuda_free(to);
    }
}

RANK_TEST(send_to_itself, 1)

/* The remains of a failed message: its place as it was, and the group. */
static void receive_another_count(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 7);
    const tutti_buffer all = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    const tutti_buffer fewer = on_cuda(device, numbers, COUNT - 1, TUTTI_INT32);
    tutti_work* work = NULL;
    for (int started = 0; started < 2; ++started) {
        if (me->rank == 0) {
            RANK_OK(me, tutti_send(me->group, &all, 1, 0, NULL, NULL, &me->error));
        } else if (started) {
            RANK_OK(me, tutti_recv(me->group, &fewer, 0, 0, NULL, NULL, &work, &me->error));
            RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_MISMATCH);
            tutti_work_release(work);
        } else {
            RANK_STATUS(me, tutti_recv(me->group, &fewer, 0, 0, NULL, NULL, NULL, &me->error),
                        TUTTI_ERR_MISMATCH);
        }
    }
    RANK_EXPECT(me, all_are(numbers, COUNT, 7));
    RANK_OK(me, add_up(me, &all, NULL, NULL));
    RANK_EXPECT(me, all_are(numbers, COUNT, 14));
    cuda_free(numbers);
}

RANK_TEST(receive_another_count, 2)

static void time_out(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = cuda_make_stream();
    gate* const held = gate_make();
    int32_t* const numbers = numbers_of(COUNT, 7);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_call_options options = on_stream(stream);
    tutti_work* work = NULL;
    options.timeout_ms = 20;
    if (me->rank == 0) {
        /* Its own stream, of which the group knows nothing. */
        gate_close(held, stream);
        RANK_STATUS(me, tutti_send(me->group, &buffer, 1, 0, &options, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
        RANK_SAYS(me, "waiting for what this rank's stream does before");
        RANK_OK(me, tutti_send(me->group, &buffer, 1, 0, &options, &work, &me->error));
        RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_TIMEOUT);
        RANK_SAYS(me, "send to rank 1 (tag 0)");
        tutti_work_release(work);
        RANK_STATUS(me, tutti_recv(me->group, &buffer, 1, 0, &options, NULL, NULL, &me->error),
                    TUTTI_ERR_TIMEOUT);
        gate_open(held);
    }
    RANK_STATUS(me,
                tutti_recv(me->group, &buffer, 1 - me->rank, 0, &options, NULL, NULL, &me->error),
                TUTTI_ERR_TIMEOUT);
    RANK_OK(me, tutti_recv(me->group, &buffer, 1 - me->rank, 0, &options, NULL, &work, &me->error));
    RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_TIMEOUT);
    tutti_work_release(work);
    cuda_wait(stream);
    RANK_EXPECT(me, all_are(numbers, COUNT, 7));
    RANK_OK(me, add_up(me, &buffer, NULL, NULL)); /* the group lives */
    RANK_EXPECT(me, all_are(numbers, COUNT, 14));
    cuda_end_stream(stream);
    cuda_free(numbers);
    gate_end(held);
}

RANK_TEST(time_out, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(send_behind_a_gate_on_ranks),
        TEST(send_beside_a_gate_on_ranks),
        TEST(send_at_once_behind_a_gate_on_ranks),
        TEST(send_from_one_kind_of_memory_to_another_on_ranks),
        TEST(send_a_batch_on_ranks),
        TEST(cancel_a_receive_on_ranks),
        TEST(cancel_a_receive_that_has_its_message_on_ranks),
        TEST(send_to_itself_on_ranks),
        TEST(receive_another_count_on_ranks),
        TEST(time_out_on_ranks),
    };
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
