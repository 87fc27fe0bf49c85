/* An argument that a call on a device cannot have is refused by a sentence that names the argument,
 * before anything moves. The first argument is the backend. */
#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 256 };

#define REFUSED(call, fragment) RANK_REFUSES(me, call, fragment)
#define UNSUPPORTED(call, fragment)                   \
    do {                                              \
        RANK_STATUS(me, call, TUTTI_ERR_UNSUPPORTED); \
        RANK_SAYS(me, fragment);                      \
    } while (0)

static tutti_call_options on_stream(void* stream) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = stream;
    return options;
}

/* The group is as good as before, and so are the numbers: 5 of each rank. */
static void expect_nothing_moved(rank_context* me, int32_t device, int32_t* numbers) {
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    RANK_EXPECT(me, all_are(numbers, COUNT, 5));
    RANK_OK(me, add_up(me, &buffer, NULL, NULL));
    RANK_EXPECT(me, all_are(numbers, COUNT, 5 * me->size));
    cuda_free(numbers);
}

static void give_memory_that_is_elsewhere(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    int32_t here[COUNT];
    char fragment[100];
    tutti_work* work = NULL;
    memset(here, 0, sizeof here);
    tutti_buffer buffer = on_cuda(device, here, COUNT, TUTTI_INT32);
    const tutti_buffer right = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    snprintf(fragment, sizeof fragment, "tutti_all_reduce: output.data is not memory of cuda:%d",
             (int)device);
    REFUSED(add_up(me, &buffer, NULL, NULL), fragment);
    REFUSED(add_up(me, &buffer, NULL, &work), fragment);
    RANK_EXPECT(me, work == NULL);
    REFUSED(tutti_all_reduce(me->group, &buffer, &right, TUTTI_SUM, NULL, NULL, &me->error),
            "input.data is not memory of cuda:");
    REFUSED(tutti_send(me->group, &buffer, 1 - me->rank, 0, NULL, NULL, &me->error),
            "buffer.data is not memory of cuda:");
    REFUSED(tutti_recv(me->group, &buffer, 1 - me->rank, 0, NULL, NULL, &work, &me->error),
            "buffer.data is not memory of cuda:");
    buffer = right;
    buffer.device_index = device_count();
    snprintf(fragment, sizeof fragment,
             "output.device_index is %d, and this process has %d devices", device_count(),
             device_count());
    REFUSED(add_up(me, &buffer, NULL, NULL), fragment);
    buffer.device_index = -1;
    REFUSED(add_up(me, &buffer, NULL, NULL), "output.device_index is -1");
    if (device_count() > 1) {
        buffer.device_index = 1 - device;
        snprintf(fragment, sizeof fragment, "output.data is memory of cuda:%d, not of cuda:%d",
                 (int)device, (int)(1 - device));
        REFUSED(add_up(me, &buffer, NULL, NULL), fragment);
    }
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(give_memory_that_is_elsewhere, 2)

static void mix_devices(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    int32_t* const others = numbers_of(COUNT, 5);
    int32_t here[COUNT];
    char fragment[100];
    memset(here, 0, sizeof here);
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here, COUNT, TUTTI_INT32);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    const tutti_buffer list[2] = {on_cuda(device, others, COUNT, TUTTI_INT32), on_cpu};
    snprintf(fragment, sizeof fragment, "input is on cuda:%d but output is on cpu", (int)device);
    REFUSED(tutti_all_reduce(me->group, &buffer, &on_cpu, TUTTI_SUM, NULL, NULL, &me->error),
            fragment);
    snprintf(fragment, sizeof fragment, "input is on cpu but output is on cuda:%d", (int)device);
    REFUSED(tutti_all_reduce(me->group, &on_cpu, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
            fragment);
    REFUSED(tutti_all_gather(me->group, &buffer, list, 2, NULL, NULL, &me->error),
            "outputs[1] is on cpu");
    REFUSED(tutti_reduce_scatter(me->group, list, 2, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
            "inputs[1] is on cpu");
    if (device_count() > 1) {
        cuda_use(1 - device);
        int32_t* const elsewhere = numbers_of(COUNT, 5);
        const tutti_buffer other = on_cuda(1 - device, elsewhere, COUNT, TUTTI_INT32);
        snprintf(fragment, sizeof fragment, "input is on cuda:%d but output is on cuda:%d",
                 (int)device, (int)(1 - device));
        REFUSED(tutti_all_reduce(me->group, &buffer, &other, TUTTI_SUM, NULL, NULL, &me->error),
                fragment);
        cuda_free(elsewhere);
        cuda_use(device);
    }
    cuda_free(others);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(mix_devices, 2)

static void mix_in_a_coalescing(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    int32_t here[COUNT];
    char fragment[100];
    memset(here, 0, sizeof here);
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here, COUNT, TUTTI_INT32);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_coalescing_options for_device = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    tutti_group* coalescing = NULL;
    options.stream = cuda_make_stream();
    for_device.device_type = TUTTI_CUDA;
    for_device.device_index = device;
    RANK_OK(me, tutti_coalescing_begin(me->group, &for_device, &coalescing, &me->error));
    snprintf(fragment, sizeof fragment,
             "all_reduce is on cpu, and this coalescing was begun for cuda:%d", (int)device);
    REFUSED(tutti_all_reduce(coalescing, NULL, &on_cpu, TUTTI_SUM, NULL, NULL, &me->error),
            fragment);
    REFUSED(tutti_all_reduce(coalescing, NULL, &buffer, TUTTI_SUM, &options, NULL, &me->error),
            "options.stream must be NULL in a coalescing");
    tutti_group_release(coalescing);
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    snprintf(fragment, sizeof fragment,
             "all_reduce is on cuda:%d, and this coalescing was begun for cpu", (int)device);
    REFUSED(tutti_all_reduce(coalescing, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
            fragment);
    tutti_group_release(coalescing);
    for_device.device_index = device_count();
    REFUSED(tutti_coalescing_begin(me->group, &for_device, &coalescing, &me->error),
            "options.device_index is");
    if (device_count() > 1) {
        for_device.device_index = 1 - device;
        RANK_OK(me, tutti_coalescing_begin(me->group, &for_device, &coalescing, &me->error));
        snprintf(fragment, sizeof fragment,
                 "all_reduce is on cuda:%d, and this coalescing was begun for cuda:%d", (int)device,
                 (int)(1 - device));
        REFUSED(tutti_all_reduce(coalescing, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error),
                fragment);
        tutti_group_release(coalescing);
    }
    cuda_end_stream(options.stream);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(mix_in_a_coalescing, 2)

static void give_a_stream_without_need(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    int32_t value = 1;
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    tutti_group* coalescing = NULL;
    tutti_bytes* all[2] = {NULL, NULL};
    tutti_work* work = NULL;
    const int32_t peer = 1 - me->rank;
    REFUSED(add_up(me, &on_cpu, &options, NULL), "options.stream");
    REFUSED(add_up(me, &on_cpu, &options, &work), "options.stream");
    REFUSED(tutti_barrier(me->group, &options, NULL, &me->error), "options.stream");
    REFUSED(tutti_barrier(me->group, &options, &work, &me->error), "options.stream");
    REFUSED(tutti_monitored_barrier(me->group, 0, &options, &me->error), "options.stream");
    REFUSED(tutti_send(me->group, &on_cpu, peer, 0, &options, NULL, &me->error), "options.stream");
    REFUSED(tutti_send(me->group, &on_cpu, peer, 0, &options, &work, &me->error), "options.stream");
    REFUSED(tutti_recv(me->group, &on_cpu, peer, 0, &options, NULL, NULL, &me->error),
            "options.stream");
    REFUSED(tutti_recv(me->group, &on_cpu, peer, 0, &options, NULL, &work, &me->error),
            "options.stream");
    REFUSED(tutti_all_gather_bytes(me->group, "a", 1, 0, &options, all, 2, NULL, &me->error),
            "options.stream");
    REFUSED(tutti_send_bytes(me->group, "a", 1, peer, 0, &options, NULL, &me->error),
            "options.stream");
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    RANK_OK(me, tutti_all_reduce(coalescing, NULL, &on_cpu, TUTTI_SUM, NULL, NULL, &me->error));
    REFUSED(tutti_coalescing_end(coalescing, &options, NULL, &me->error), "options.stream");
    RANK_EXPECT(me, work == NULL && value == 1);
    RANK_OK(me, tutti_barrier(me->group, NULL, &work, &me->error));
    REFUSED(tutti_work_synchronize(work, stream, &me->error), "stream");
    tutti_work_release(work);
    RANK_OK(me, add_up(me, &on_cpu, NULL, &work));
    REFUSED(tutti_work_synchronize(work, stream, &me->error),
            "stream is given, and the operation has no buffers on a device");
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    cuda_end_stream(stream);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(give_a_stream_without_need, 2)

static void give_a_stream_of_another_device(rank_context* me) {
    if (device_count() < 2) return;
    cuda_use(1 - me->rank % 2);
    void* const elsewhere = cuda_make_stream();
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    const tutti_call_options options = on_stream(elsewhere);
    tutti_work* work = NULL;
    char fragment[100];
    snprintf(fragment, sizeof fragment, "options.stream is no stream of cuda:%d", (int)device);
    REFUSED(add_up(me, &buffer, &options, NULL), fragment);
    REFUSED(add_up(me, &buffer, &options, &work), fragment);
    REFUSED(tutti_send(me->group, &buffer, 1 - me->rank, 0, &options, &work, &me->error), fragment);
    REFUSED(tutti_recv(me->group, &buffer, 1 - me->rank, 0, &options, NULL, &work, &me->error),
            fragment);
    RANK_EXPECT(me, work == NULL);
    cuda_end_stream(elsewhere);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(give_a_stream_of_another_device, 2)

static void give_a_stream_that_is_captured(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    const int32_t peer = 1 - me->rank;
    const char* const said = "options.stream is being captured into a graph";
    tutti_work* work = NULL;
    begin_capture(stream);
    UNSUPPORTED(add_up(me, &buffer, &options, NULL), said);
    UNSUPPORTED(add_up(me, &buffer, &options, &work), said);
    UNSUPPORTED(tutti_send(me->group, &buffer, peer, 0, &options, NULL, &me->error), said);
    UNSUPPORTED(tutti_recv(me->group, &buffer, peer, 0, &options, NULL, &work, &me->error), said);
    end_capture(stream); /* it goes on, and takes nothing */
    RANK_EXPECT(me, work == NULL);
    RANK_OK(me, add_up(me, &buffer, &options, NULL));
    cuda_wait(stream);
    cuda_end_stream(stream);
    RANK_EXPECT(me, all_are(numbers, COUNT, 5 * me->size));
    cuda_free(numbers);
}

RANK_TEST(give_a_stream_that_is_captured, 2)

static void synchronize_a_stream_that_is_captured(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    void* const stream = cuda_make_stream();
    tutti_work* work = NULL;
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    RANK_OK(me, tutti_broadcast(me->group, &buffer, 0, NULL, &work, &me->error));
    begin_capture(stream);
    UNSUPPORTED(tutti_work_synchronize(work, stream, &me->error),
                "tutti_work_synchronize: stream is being captured");
    end_capture(stream); /* it goes on */
    RANK_OK(me, tutti_work_synchronize(work, stream, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    cuda_wait(stream);
    cuda_end_stream(stream);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(synchronize_a_stream_that_is_captured, 2)

/* All of a batch is checked before the first message starts. */
static void give_a_batch_what_one_of_it_cannot_have(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    int32_t value = 0;
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    tutti_p2p_op ops[2] = {TUTTI_P2P_OP_INIT(TUTTI_ISEND, NULL, 0, TUTTI_INT32, 1 - me->rank, 0),
                           TUTTI_P2P_OP_INIT(TUTTI_ISEND, &value, 1, TUTTI_INT32, 1 - me->rank, 0)};
    tutti_work* works[2] = {NULL, NULL};
    ops[0].buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    REFUSED(tutti_batch_isend_irecv(me->group, ops, 2, &options, works, &me->error),
            "options.stream is given, and the buffer is in memory of the CPU");
    ops[1].buffer = ops[0].buffer;
    begin_capture(stream);
    UNSUPPORTED(tutti_batch_isend_irecv(me->group, ops, 2, &options, works, &me->error),
                "options.stream is being captured into a graph");
    end_capture(stream);
    if (device_count() > 1) {
        cuda_use(1 - device);
        int32_t* const elsewhere = numbers_of(COUNT, 5);
        char fragment[100];
        ops[1].buffer = on_cuda(1 - device, elsewhere, COUNT, TUTTI_INT32);
        snprintf(fragment, sizeof fragment, "options.stream is no stream of cuda:%d",
                 (int)(1 - device));
        REFUSED(tutti_batch_isend_irecv(me->group, ops, 2, &options, works, &me->error), fragment);
        cuda_free(elsewhere);
        cuda_use(device);
    }
    RANK_EXPECT(me, works[0] == NULL && works[1] == NULL);
    cuda_end_stream(stream);
    /* No message came: the first one is this. */
    value = 9;
    int32_t received = 0;
    const tutti_buffer sent = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT32);
    const tutti_buffer place = TUTTI_BUFFER_INIT(&received, 1, TUTTI_INT32);
    tutti_work* work = NULL;
    RANK_OK(me, tutti_send(me->group, &sent, 1 - me->rank, 0, NULL, &work, &me->error));
    RANK_OK(me, tutti_recv(me->group, &place, 1 - me->rank, 0, NULL, NULL, NULL, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    RANK_EXPECT(me, received == 9);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(give_a_batch_what_one_of_it_cannot_have, 2)

static void call_beside_a_capture(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    void* const captured = cuda_make_stream();
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    begin_capture(captured);
    RANK_OK(me, add_up(me, &buffer, &options, NULL));
    end_capture(captured);
    cuda_wait(stream);
    cuda_end_stream(stream);
    cuda_end_stream(captured);
    RANK_EXPECT(me, all_are(numbers, COUNT, 5 * me->size));
    cuda_free(numbers);
}

RANK_TEST(call_beside_a_capture, 2)

static void name_other_types_of_device(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 5);
    tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_coalescing_options of_xpu = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_memory_options memory_of_xpu = TUTTI_MEMORY_OPTIONS_INIT;
    tutti_group* coalescing = NULL;
    void* memory = NULL;
    buffer.device_type = TUTTI_XPU;
    UNSUPPORTED(add_up(me, &buffer, NULL, NULL),
                "output.device_type is 12 (xpu): tutti has no backend for these devices");
    of_xpu.device_type = TUTTI_XPU;
    UNSUPPORTED(tutti_coalescing_begin(me->group, &of_xpu, &coalescing, &me->error),
                "options.device_type is 12 (xpu)");
    memory_of_xpu.device_type = TUTTI_XPU;
    UNSUPPORTED(tutti_memory_alloc(me->group, 16, &memory_of_xpu, &memory, &me->error),
                "options.device_type is 12 (xpu)");
    buffer.device_type = 7;
    REFUSED(add_up(me, &buffer, NULL, NULL), "output.device_type is 7");
    RANK_EXPECT(me, memory == NULL && coalescing == NULL);
    expect_nothing_moved(me, device, numbers);
}

RANK_TEST(name_other_types_of_device, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(give_memory_that_is_elsewhere_on_ranks),
        TEST(mix_devices_on_ranks),
        TEST(mix_in_a_coalescing_on_ranks),
        TEST(give_a_stream_without_need_on_ranks),
        TEST(give_a_stream_of_another_device_on_ranks),
        TEST(give_a_stream_that_is_captured_on_ranks),
        TEST(synchronize_a_stream_that_is_captured_on_ranks),
        TEST(give_a_batch_what_one_of_it_cannot_have_on_ranks),
        TEST(call_beside_a_capture_on_ranks),
        TEST(name_other_types_of_device_on_ranks),
    };
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
