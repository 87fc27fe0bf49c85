/* The features of the backend "nccl" beyond the conformance matrix: messages, deadlines, refusals,
 * and groups one after the other. Each rank is a process that tuttirun has started. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "rank_program.h"

enum { COUNT = 200000, GROUPS = 20 };

static void* stream;

#define REFUSED(call, text)                             \
    do {                                                \
        EXPECT((call) == TUTTI_ERR_UNSUPPORTED);        \
        EXPECT(strstr(me.error.message, text) != NULL); \
    } while (0)

static tutti_buffer of(const int32_t* numbers, int64_t count) {
    return on_cuda(device, numbers, count, TUTTI_INT32);
}

static void open_group(const char* backend) {
    OK(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backend, NULL, NULL, &me.group, &me.error));
}

static void close_group(void) {
    OK(tutti_destroy_process_group(me.group, NULL, &me.error));
    tutti_group_release(me.group);
}

/* All at the same time, around the ring and back: none waits for another one. */
static void messages_of_a_batch_are_under_way_together(void) {
    const int32_t next = (me.rank + 1) % me.size, previous = (me.rank + me.size - 1) % me.size;
    int32_t* const memory[] = {numbers_of(COUNT, me.rank), numbers_of(COUNT, -1),
                               numbers_of(COUNT, 10 + me.rank), numbers_of(COUNT, -1)};
    const int32_t peers[] = {next, previous, previous, next};
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_p2p_op ops[4];
    tutti_work* works[4];
    for (int i = 0; i < 4; ++i) {
        const tutti_p2p_op op = TUTTI_P2P_OP_INIT(i % 2 == 0 ? TUTTI_ISEND : TUTTI_IRECV, NULL, 0,
                                                  TUTTI_INT32, peers[i], 0);
        ops[i] = op;
        ops[i].buffer = of(memory[i], COUNT);
    }
    options.stream = stream;
    OK(tutti_batch_isend_irecv(me.group, ops, 4, &options, works, &me.error));
    for (int i = 0; i < 4; ++i) {
        OK(tutti_work_wait(works[i], 0, &me.error));
        tutti_work_release(works[i]);
    }
    EXPECT(all_are(memory[1], COUNT, previous));
    EXPECT(all_are(memory[3], COUNT, 10 + next));
    for (int i = 0; i < 4; ++i) cuda_free(memory[i]);
}

/* One after the other, each rank waiting for the one before it. */
static void a_message_goes_around(const tutti_call_options* options) {
    int32_t* const memory = numbers_of(COUNT, 77 + me.rank);
    const tutti_buffer buffer = of(memory, COUNT);
    int32_t source = -1;
    if (me.rank > 0) {
        OK(tutti_recv(me.group, &buffer, me.rank - 1, 0, options, &source, NULL, &me.error));
        EXPECT(source == me.rank - 1);
    }
    if (me.rank + 1 < me.size) {
        OK(tutti_send(me.group, &buffer, me.rank + 1, 0, options, NULL, &me.error));
    }
    if (options != NULL) cuda_wait(options->stream);
    EXPECT(all_are(memory, COUNT, 77));
    cuda_free(memory);
}

/* The root has done its part, and need not stay until the others begin. */
static void a_rank_may_leave_before_others_begin(void) {
    int32_t* const memory = numbers_of(100, me.rank);
    const tutti_buffer buffer = of(memory, 100);
    open_group("nccl");
    OK(tutti_broadcast(me.group, &buffer, 1, NULL, NULL, &me.error));
    if (me.rank == 0) {
        OK(tutti_broadcast(me.group, &buffer, 0, NULL, NULL, &me.error));
        close_group();
    }
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    if (me.rank != 0) {
        OK(tutti_broadcast(me.group, &buffer, 0, NULL, NULL, &me.error));
        EXPECT(all_are(memory, 100, 1));
        close_group();
    }
    cuda_free(memory);
}

/* The call waits for what its stream has, and the stream for the call. */
static void calls_follow_their_stream(void) {
    int32_t* const memory = numbers_of(COUNT, 0);
    int32_t* const wanted = numbers_of(COUNT, 1);
    const tutti_buffer buffer = of(memory, COUNT);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    gate* const held = gate_make();
    tutti_work* work = NULL;
    gate_close(held, stream);
    cuda_copy(memory, wanted, COUNT * sizeof *memory, stream);
    options.stream = stream;
    OK(add_up(&me, &buffer, &options, &work));
    int32_t is_completed = 1;
    OK(tutti_work_is_completed(work, &is_completed, &me.error));
    EXPECT(!is_completed);
    gate_open(held);
    OK(tutti_work_synchronize(work, stream, &me.error));
    cuda_copy(wanted, memory, COUNT * sizeof *memory, stream);
    cuda_wait(stream);
    EXPECT(all_are(wanted, COUNT, me.size));
    OK(tutti_work_wait(work, 0, &me.error));
    tutti_work_release(work);
    gate_end(held);
    cuda_free(memory);
    cuda_free(wanted);
}

/* One stream after the other, without a wait on the host, each with calls of both kinds. */
static void calls_change_their_streams(void) {
    int32_t* const memory = numbers_of(COUNT, 1);
    const tutti_buffer buffer = of(memory, COUNT);
    int32_t* const pieces = numbers_of(COUNT * (int64_t)me.size, me.rank);
    const tutti_buffer all = of(pieces, COUNT * (int64_t)me.size);
    void* const streams[] = {stream, cuda_make_stream()};
    tutti_work* works[8] = {NULL};
    for (int i = 0; i < 8; ++i) {
        tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
        options.stream = streams[i % 2];
        OK(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_MAX, &options, NULL, &me.error));
        OK(tutti_all_to_all_single(me.group, &all, NULL, 0, &all, NULL, 0, &options, NULL,
                                   &me.error));
        OK(tutti_broadcast(me.group, &buffer, i % me.size, &options, &works[i], &me.error));
    }
    for (int i = 0; i < 8; ++i) {
        OK(tutti_work_wait(works[i], 0, &me.error));
        tutti_work_release(works[i]);
    }
    /* An even number of exchanges: all are at home again. */
    EXPECT(all_are(pieces, COUNT * (int64_t)me.size, me.rank));
    EXPECT(all_are(memory, COUNT, 1));
    cuda_end_stream(streams[1]);
    cuda_free(memory);
    cuda_free(pieces);
}

/* What is captured happens when the graph runs, as often as it does. */
static void a_graph_has_calls(void) {
    int32_t* const memory = numbers_of(COUNT, 1);
    const tutti_buffer buffer = of(memory, COUNT);
    int32_t* const other = numbers_of(COUNT, me.rank);
    const tutti_buffer input = of(other, COUNT);
    const tutti_buffer shared = of(memory, 1000 * (int64_t)me.size);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_work* work = NULL;
    options.stream = stream;
    begin_capture(stream);
    REFUSED(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_SUM, &options, NULL, &me.error),
            "this group has had no call on the device before");
    end_capture(stream);
    OK(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_MAX, NULL, NULL, &me.error));
    begin_capture(stream);
    OK(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_SUM, &options, NULL, &me.error));
    OK(tutti_broadcast(me.group, &input, 1, &options, NULL, &me.error));
    REFUSED(tutti_all_to_all_single(me.group, &shared, NULL, 0, &shared, NULL, 0, &options, NULL,
                                    &me.error),
            "all_to_all in place");
    REFUSED(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_SUM, &options, &work, &me.error),
            "being captured");
    cuda_graph* const made = end_capture_as_graph(stream);
    EXPECT(all_are(memory, COUNT, 1));
    if (made != NULL) {
        for (int i = 0; i < 2; ++i) graph_run(made, stream);
        cuda_wait(stream);
        EXPECT(all_are(memory, COUNT, me.size * me.size));
        EXPECT(all_are(other, COUNT, 1));
        graph_end(made);
    }
    OK(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_MAX, NULL, NULL, &me.error));
    cuda_free(memory);
    cuda_free(other);
}

/* The double says which stream a call was on. */
static void the_stream_may_go_before_others(void) {
    int32_t* const memory = numbers_of(COUNT, 1);
    const tutti_buffer buffer = of(memory, COUNT);
    for (int is_high = 0; is_high < 2; ++is_high) {
        open_group(is_high ? "nccl?is_high_priority_stream=1" : "nccl");
        OK(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_MAX, NULL, NULL, &me.error));
        EXPECT(all_are(memory, COUNT, 1));
        if (on_the_double()) EXPECT((ask_fake_nccl("fake_nccl_last_priority") < 0) == is_high);
        close_group();
    }
    cuda_free(memory);
}

static void another_device_is_refused(tutti_buffer buffer) {
    buffer.device_index = (device + 1) % device_count();
    cuda_use(buffer.device_index);
    int32_t* const there = numbers_of(1, 0);
    cuda_use(device);
    buffer.data = there;
    EXPECT(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error) ==
           TUTTI_ERR_INVALID_ARGUMENT);
    EXPECT(strstr(me.error.message, "where the first was") != NULL);
    cuda_free(there);
}

static void what_nccl_lacks_is_refused(void) {
    int32_t* const memory = numbers_of(1, me.rank);
    const tutti_buffer buffer = of(memory, 1);
    const int32_t peer = (me.rank + 1) % me.size;
    int32_t value = 1;
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    REFUSED(tutti_all_reduce(me.group, NULL, &on_cpu, TUTTI_SUM, NULL, NULL, &me.error),
            "\"cpu:gloo,cuda:nccl\" does");
    REFUSED(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_BAND, NULL, NULL, &me.error),
            "backend \"nccl\" does not support all_reduce");
    REFUSED(tutti_send(me.group, &buffer, peer, 7, NULL, NULL, &me.error), "tag must be 0");
    REFUSED(tutti_recv(me.group, &buffer, -1, 0, NULL, NULL, NULL, &me.error), "any rank");
    OK(tutti_all_reduce(me.group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    EXPECT(all_are(memory, 1, me.size * (me.size - 1) / 2));
    if (device_count() > 1) another_device_is_refused(buffer);
    OK(tutti_barrier(me.group, NULL, NULL, &me.error));
    cuda_free(memory);
}

/* Rank 0 does not come: the others' time is up, and what they gave is theirs again. */
static void a_call_that_some_omit_times_out(void) {
    int32_t* const memory = numbers_of(COUNT, 1);
    const tutti_buffer buffer = of(memory, COUNT);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 300;
    const tutti_status status = me.rank == 0 ? TUTTI_OK
                                             : tutti_all_reduce(me.group, NULL, &buffer, TUTTI_SUM,
                                                                &options, NULL, &me.error);
    if (me.rank != 0) EXPECT(status == TUTTI_ERR_TIMEOUT || status == TUTTI_ERR_ABORTED);
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error)); /* rank 0 leaves after that */
    cuda_free(memory);
}

static int open_files(void) {
    DIR* const all = opendir("/proc/self/fd");
    EXPECT(all != NULL);
    int files = 0;
    while (readdir(all) != NULL) ++files;
    (void)closedir(all);
    return files;
}

/* nccl_calls_test [GROUPS] */
int main(int argc, char** argv) {
    const int groups = argc > 1 ? atoi(argv[1]) : GROUPS;
    tutti_error_init(&me.error, sizeof me.error);
    OK(tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, &me.error));
    me.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    me.size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    device = use_device(&me);
    stream = cuda_make_stream();
    tutti_call_options on_stream = TUTTI_CALL_OPTIONS_INIT;
    on_stream.stream = stream;
    int files = 0;
    size_t memory = 0;
    for (int number = 0; number < groups; ++number) {
        if (number == 10) files = open_files(), memory = free_bytes();
        open_group("nccl");
        if (number == 0) what_nccl_lacks_is_refused();
        if (number == 3) a_graph_has_calls();
        if (number == 4) calls_change_their_streams();
        messages_of_a_batch_are_under_way_together();
        calls_follow_their_stream();
        if (number == 1) a_message_goes_around(NULL);
        if (number == 2) a_message_goes_around(&on_stream);
        close_group();
    }
    /* Some are on their way out: nothing is left of hundreds of others. */
    if (groups > 100) {
        EXPECT(open_files() < files + 50);
        EXPECT(free_bytes() + ((size_t)256 << 20) > memory);
    }
    the_stream_may_go_before_others();
    /* The double's NCCL does not end on a rank before it ends on all. */
    if (!on_the_double()) a_rank_may_leave_before_others_begin();
    open_group("cpu:gloo,cuda:nccl");
    calls_follow_their_stream();
    a_call_that_some_omit_times_out();
    close_group();
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error));
    cuda_end_stream(stream);
    return 0;
}
