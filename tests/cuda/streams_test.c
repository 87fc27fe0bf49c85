/* When is a call on a stream done, and who waits for it? Streams are held back by gates. The first
 * argument is the backend. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 3000, TURNS = 5 };

static tutti_call_options on_stream(void* stream) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = stream;
    return options;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The common state of these tests. */
typedef struct held {
    int32_t device;
    void* stream;
    gate* gate;
    int32_t* numbers;
    tutti_buffer buffer;
    tutti_call_options options;
} held;

/* A stream that a gate holds back, before it writes 5 to the numbers. */
static held hold(const rank_context* me, int64_t count) {
    held all;
    all.device = use_device(me);
    all.stream = cuda_make_stream();
    all.gate = gate_make();
    all.numbers = numbers_of(count, -1);
    all.buffer = on_cuda(all.device, all.numbers, count, TUTTI_INT32);
    all.options = on_stream(all.stream);
    int32_t* const fives = numbers_of(count, 5);
    gate_close(all.gate, all.stream);
    cuda_copy(all.numbers, fives, (size_t)count * sizeof *fives, all.stream);
    return all;
}

static void let_go(held* all) {
    gate_open(all->gate);
    cuda_wait(all->stream);
    cuda_end_stream(all->stream);
    cuda_free(all->numbers);
    gate_end(all->gate);
}

static void start_behind_a_gate(rank_context* me) {
    held all = hold(me, COUNT);
    int32_t* const more = numbers_of(COUNT, 1);
    const tutti_buffer second = on_cuda(all.device, more, COUNT, TUTTI_INT32);
    tutti_work* works[2] = {NULL, NULL};
    int32_t completed = 1;
    int64_t index = 0;
    RANK_OK(me, add_up(me, &all.buffer, &all.options, &works[0]));
    RANK_OK(me, add_up(me, &second, NULL, &works[1])); /* queues behind it */
    for (int i = 0; i < 2; ++i) {
        RANK_OK(me, tutti_work_is_completed(works[i], &completed, &me->error));
        RANK_EXPECT(me, !completed);
        RANK_STATUS(me, tutti_work_wait(works[i], 5, &me->error), TUTTI_ERR_PENDING);
        RANK_SAYS(me, "the operation is still running");
    }
    RANK_STATUS(me, tutti_work_wait_any(works, 2, 5, &index, &me->error), TUTTI_ERR_PENDING);
    RANK_STATUS(me, tutti_work_wait_all(works, 2, 5, &me->error), TUTTI_ERR_PENDING);
    gate_open(all.gate);
    for (int i = 0; i < 2; ++i) {
        RANK_OK(me, tutti_work_wait(works[i], 0, &me->error));
        RANK_OK(me, tutti_work_is_completed(works[i], &completed, &me->error));
        RANK_EXPECT(me, completed);
        tutti_work_release(works[i]);
    }
    RANK_EXPECT(me, all_are(all.numbers, COUNT, 5 * me->size));
    RANK_EXPECT(me, all_are(more, COUNT, me->size));
    cuda_free(more);
    let_go(&all);
}

RANK_TEST(start_behind_a_gate, 3)

/* One rank's stream is held back: it alone knows why nothing goes on. */
static void run_into_the_limit(rank_context* me) {
    held all = hold(me, COUNT);
    if (me->rank != 1) gate_open(all.gate);
    tutti_call_options options = all.options;
    options.timeout_ms = me->rank == 1 ? 50 : 60000;
    const int64_t begun = now_ms();
    const tutti_status status = add_up(me, &all.buffer, &options, NULL);
    if (me->rank == 1) {
        RANK_STATUS(me, status, TUTTI_ERR_TIMEOUT);
        RANK_SAYS(me, "timed out after 50 ms");
        RANK_SAYS(me, "waiting for what this rank's stream does before");
        RANK_EXPECT(me, me->error.rank < 0 || me->error.rank == 1);
    } else { /* they hear of it long before their own limit */
        RANK_EXPECT(me, status != TUTTI_OK && status != TUTTI_ERR_TIMEOUT);
        RANK_EXPECT(me, me->error.rank == 1);
        RANK_SAYS(me, "rank 1");
    }
    RANK_EXPECT(me, now_ms() - begun < 30000);
    /* Nothing touches the memory any more: the double would see it. */
    int32_t* const numbers = all.numbers;
    gate_open(all.gate);
    cuda_wait(all.stream);
    RANK_EXPECT(me, all_are(numbers, COUNT, 5));
    let_go(&all);
    tutti_destroy_process_group(me->group, NULL, NULL);
    me->group = NULL;
}

RANK_TEST(run_into_the_limit, 3)

static void run_into_the_limit_later(rank_context* me) {
    held all = hold(me, COUNT);
    tutti_call_options options = all.options;
    tutti_work* work = NULL;
    options.timeout_ms = 50;
    RANK_OK(me, add_up(me, &all.buffer, &options, &work));
    RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_TIMEOUT);
    tutti_work_release(work);
    int32_t* const other = numbers_of(1, 0); /* the device goes on meanwhile */
    gate_open(all.gate);
    cuda_wait(all.stream);
    cuda_free(other);
    RANK_EXPECT(me, all_are(all.numbers, COUNT, 5));
    let_go(&all);
    tutti_destroy_process_group(me->group, NULL, NULL);
    me->group = NULL;
}

RANK_TEST(run_into_the_limit_later, 1)

/* The operation of each way to begin one, which waits for a stream that is held back. */
static tutti_status begin(rank_context* me, const held* all, int which, tutti_work** work) {
    const int32_t peer = (me->rank + 1) % me->size;
    switch (which) {
        case 0:
            return add_up(me, &all->buffer, &all->options, work);
        case 1:
            return tutti_send(me->group, &all->buffer, peer, 0, &all->options, work, &me->error);
        default:
            return tutti_recv(me->group, &all->buffer, peer, 0, &all->options, NULL, work,
                              &me->error);
    }
}

static void destroy_while_it_waits(rank_context* me) {
    held all = hold(me, COUNT);
    const int which = *(const int*)me->user;
    tutti_work* work = NULL;
    RANK_OK(me, begin(me, &all, which, &work));
    if (which == 2) { /* the message is there; its place is not */
        int32_t sent[COUNT] = {0};
        const tutti_buffer message = TUTTI_BUFFER_INIT(sent, COUNT, TUTTI_INT32);
        tutti_work* sending = NULL;
        RANK_OK(me, tutti_send(me->group, &message, (me->rank + 1) % me->size, 0, NULL, &sending,
                               &me->error));
        RANK_OK(me, tutti_work_wait(sending, 0, &me->error));
        tutti_work_release(sending);
    }
    RANK_OK(me, tutti_store_barrier(me->store, "begun", me->size, NULL, &me->error));
    const int64_t begun = now_ms();
    RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
    me->group = NULL;
    RANK_EXPECT(me, now_ms() - begun < 30000);
    RANK_EXPECT(me, tutti_work_wait(work, 0, &me->error) != TUTTI_OK);
    tutti_work_release(work);
    gate_open(all.gate);
    cuda_wait(all.stream);
    RANK_EXPECT(me, all_are(all.numbers, COUNT, 5));
    let_go(&all);
}

static void a_group_ends_while_its_operations_wait_for_a_stream(void** state) {
    (void)state;
    for (int which = 0; which < 3; ++which) RUN_WITH(2, destroy_while_it_waits, &which);
}

typedef struct calls {
    pthread_mutex_t mutex;
    int count;
    tutti_status status;
} calls;

static int count_of(calls* all) {
    pthread_mutex_lock(&all->mutex);
    const int count = all->count;
    pthread_mutex_unlock(&all->mutex);
    return count;
}

static void count_call(void* user) {
    calls* const all = (calls*)user;
    pthread_mutex_lock(&all->mutex);
    ++all->count;
    pthread_mutex_unlock(&all->mutex);
}

static void count_result(const tutti_error* result, void* user) {
    calls* const all = (calls*)user;
    pthread_mutex_lock(&all->mutex);
    all->status = result->status;
    ++all->count;
    pthread_mutex_unlock(&all->mutex);
}

static void be_told(rank_context* me) {
    held all = hold(me, COUNT);
    calls told = {PTHREAD_MUTEX_INITIALIZER, 0, TUTTI_ERR_PENDING};
    tutti_work* work = NULL;
    all.options.on_done = count_call;
    all.options.on_done_user = &told;
    RANK_OK(me, add_up(me, &all.buffer, &all.options, &work));
    RANK_OK(me, tutti_work_then(work, count_result, &told, NULL, &me->error));
    RANK_STATUS(me, tutti_work_wait(work, 5, &me->error), TUTTI_ERR_PENDING);
    RANK_EXPECT(me, count_of(&told) == 0);
    gate_open(all.gate);
    while (count_of(&told) < 2) sched_yield();
    RANK_EXPECT(me, told.status == TUTTI_OK);
    RANK_EXPECT(me, all_are(all.numbers, COUNT, 5 * me->size));
    tutti_work_release(work);
    let_go(&all);
}

RANK_TEST(be_told, 2)

/* The second stream may count on the results once it was synchronized, the CPU may not. */
static void synchronize_a_second_stream(rank_context* me) {
    held all = hold(me, COUNT);
    void* const second = cuda_make_stream();
    gate* const later = gate_make();
    int32_t* const seen = numbers_of(COUNT, -1);
    tutti_work* work = NULL;
    gate_open(all.gate);
    RANK_OK(me, add_up(me, &all.buffer, &all.options, &work));
    gate_close(later, second);
    RANK_OK(me, tutti_work_synchronize(work, second, &me->error));
    cuda_copy(seen, all.numbers, COUNT * sizeof *seen, second);
    RANK_EXPECT(me, !stream_is_done(second));
    gate_open(later);
    cuda_wait(second);
    RANK_EXPECT(me, all_are(seen, COUNT, 5 * me->size));
    RANK_OK(me, tutti_work_synchronize(work, NULL, &me->error));
    tutti_work_release(work);
    cuda_end_stream(second);
    cuda_free(seen);
    gate_end(later);
    let_go(&all);
}

RANK_TEST(synchronize_a_second_stream, 2)

/* The work says where it ends before it has ended, and after. */
static void synchronize_before_and_after_the_end(rank_context* me) {
    held all = hold(me, COUNT);
    tutti_work* work = NULL;
    gate_open(all.gate);
    for (int after = 0; after < 2; ++after) {
        RANK_OK(me, add_up(me, &all.buffer, &all.options, &work));
        if (after) RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        RANK_OK(me, tutti_work_synchronize(work, all.stream, &me->error));
        RANK_OK(me, tutti_work_synchronize(work, all.stream, &me->error));
        tutti_work_release(work);
    }
    cuda_wait(all.stream);
    RANK_EXPECT(me, all_are(all.numbers, COUNT, 5 * me->size * me->size));
    let_go(&all);
}

RANK_TEST(synchronize_before_and_after_the_end, 2)

typedef struct synchronizer {
    tutti_work* work;
    void* stream;
    tutti_status status;
} synchronizer;

static void* synchronize(void* user) {
    synchronizer* const me = (synchronizer*)user;
    me->status = tutti_work_synchronize(me->work, me->stream, NULL);
    return NULL;
}

static void synchronize_on_another_thread(rank_context* me) {
    held all = hold(me, COUNT);
    void* const second = cuda_make_stream();
    int32_t* const seen = numbers_of(COUNT, -1);
    synchronizer other = {NULL, second, TUTTI_ERR_PENDING};
    pthread_t thread;
    RANK_OK(me, add_up(me, &all.buffer, &all.options, &other.work));
    RANK_EXPECT(me, pthread_create(&thread, NULL, synchronize, &other) == 0);
    gate_open(all.gate);
    RANK_EXPECT(me, pthread_join(thread, NULL) == 0 && other.status == TUTTI_OK);
    cuda_copy(seen, all.numbers, COUNT * sizeof *seen, second);
    cuda_wait(second);
    RANK_EXPECT(me, all_are(seen, COUNT, 5 * me->size));
    tutti_work_release(other.work);
    cuda_end_stream(second);
    cuda_free(seen);
    let_go(&all);
}

RANK_TEST(synchronize_on_another_thread, 2)

/* Once a stream was synchronized, memory may be freed when that stream has come so far. */
static void free_after_synchronize(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    for (int turn = 0; turn < TURNS; ++turn) {
        int32_t* const numbers = numbers_of(COUNT, 1);
        const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
        tutti_work* work = NULL;
        RANK_OK(me, add_up(me, &buffer, &options, &work));
        RANK_OK(me, tutti_work_synchronize(work, stream, &me->error));
        tutti_work_release(work);
        cuda_wait(stream);
        cuda_free(numbers);
    }
    cuda_end_stream(stream);
}

RANK_TEST(free_after_synchronize, 2)

/* Calls without a work follow each other, and the program's own, on one stream. */
static void go_on_in_the_order_of_the_stream(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    int32_t* const first = numbers_of(COUNT, 1);
    int32_t* const second = numbers_of(COUNT, 0);
    const tutti_buffer buffer = on_cuda(device, second, COUNT, TUTTI_INT32);
    int32_t right = 1;
    for (int turn = 0; turn < TURNS; ++turn, right *= me->size) {
        cuda_copy(second, first, COUNT * sizeof *first, stream);
        RANK_OK(me, add_up(me, &buffer, &options, NULL));
        cuda_copy(first, second, COUNT * sizeof *first, stream);
    }
    cuda_wait(stream);
    cuda_end_stream(stream);
    RANK_EXPECT(me, all_are(first, COUNT, right));
    cuda_free(first);
    cuda_free(second);
}

RANK_TEST(go_on_in_the_order_of_the_stream, 3)

/* Without a stream the default one comes first, and the call returns when it is done. */
static void follow_the_default_stream(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const first = numbers_of(COUNT, 7);
    int32_t* const second = numbers_of(COUNT, 0);
    const tutti_buffer buffer = on_cuda(device, second, COUNT, TUTTI_INT32);
    void* const blocking = make_blocking_stream(); /* for which the default stream waits */
    tutti_work* work = NULL;
    cuda_copy(second, first, COUNT * sizeof *first, NULL);
    RANK_OK(me, add_up(me, &buffer, NULL, NULL));
    RANK_EXPECT(me, all_are(second, COUNT, 7 * me->size));
    cuda_copy(second, first, COUNT * sizeof *first, blocking);
    RANK_OK(me, add_up(me, &buffer, NULL, &work));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    RANK_EXPECT(me, all_are(second, COUNT, 7 * me->size));
    tutti_work_release(work);
    cuda_wait(blocking);
    cuda_end_stream(blocking);
    cuda_free(first);
    cuda_free(second);
}

RANK_TEST(follow_the_default_stream, 2)

/* The default stream by its number, and that of this thread. */
static void use_streams_without_a_handle(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const first = numbers_of(COUNT, 7);
    int32_t* const second = numbers_of(COUNT, 0);
    const tutti_buffer buffer = on_cuda(device, second, COUNT, TUTTI_INT32);
    for (uintptr_t number = 1; number <= 2; ++number) {
        void* const stream = (void*)number; /* CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
        const tutti_call_options options = on_stream(stream);
        tutti_work* work = NULL;
        cuda_copy(second, first, COUNT * sizeof *first, stream);
        RANK_OK(me, add_up(me, &buffer, &options, NULL));
        RANK_OK(me, add_up(me, &buffer, &options, &work));
        RANK_OK(me, tutti_work_synchronize(work, stream, &me->error));
        cuda_wait(stream);
        tutti_work_release(work);
        RANK_EXPECT(me, all_are(second, COUNT, 7 * me->size * me->size));
    }
    cuda_free(first);
    cuda_free(second);
}

RANK_TEST(use_streams_without_a_handle, 2)

/* Also of what moves nothing, a work can be synchronized. */
static void synchronize_what_moves_nothing(rank_context* me) {
    const int32_t device = use_device(me);
    void* const stream = cuda_make_stream();
    const tutti_call_options options = on_stream(stream);
    const tutti_buffer nothing = on_cuda(device, NULL, 0, TUTTI_INT32);
    tutti_coalescing_options for_device = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_group* coalescing = NULL;
    tutti_work* work = NULL;
    RANK_OK(me, add_up(me, &nothing, &options, NULL));
    RANK_OK(me, add_up(me, &nothing, &options, &work));
    RANK_OK(me, tutti_work_synchronize(work, stream, &me->error));
    tutti_work_release(work);
    for_device.device_type = TUTTI_CUDA;
    for_device.device_index = device;
    RANK_OK(me, tutti_coalescing_begin(me->group, &for_device, &coalescing, &me->error));
    RANK_OK(me, tutti_coalescing_end(coalescing, &options, &work, &me->error));
    RANK_OK(me, tutti_work_synchronize(work, stream, &me->error));
    tutti_work_release(work);
    cuda_wait(stream);
    cuda_end_stream(stream);
}

RANK_TEST(synchronize_what_moves_nothing, 2)

/* A started send has its data once the stream has come to it: whoever synchronized may write. */
static void synchronize_a_message(rank_context* me) {
    held all = hold(me, COUNT);
    int32_t* const received = numbers_of(COUNT, 0);
    const tutti_buffer to = on_cuda(all.device, received, COUNT, TUTTI_INT32);
    const int32_t peer = 1 - me->rank;
    tutti_work *sending = NULL, *receiving = NULL;
    RANK_OK(me, tutti_send(me->group, &all.buffer, peer, 0, &all.options, &sending, &me->error));
    RANK_OK(me, tutti_recv(me->group, &to, peer, 0, NULL, NULL, &receiving, &me->error));
    gate_open(all.gate);
    RANK_OK(me, tutti_work_synchronize(sending, all.stream, &me->error));
    cuda_fill(all.numbers, 0xff, COUNT * sizeof *all.numbers, all.stream);
    RANK_OK(me, tutti_work_synchronize(receiving, all.stream, &me->error));
    int32_t* const seen = numbers_of(COUNT, 0);
    cuda_copy(seen, received, COUNT * sizeof *seen, all.stream);
    cuda_wait(all.stream);
    RANK_EXPECT(me, all_are(seen, COUNT, 5));
    RANK_OK(me, tutti_work_wait(sending, 0, &me->error));
    tutti_work_release(sending);
    tutti_work_release(receiving);
    cuda_free(received);
    cuda_free(seen);
    let_go(&all);
}

RANK_TEST(synchronize_a_message, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(start_behind_a_gate_on_ranks),
        TEST(run_into_the_limit_on_ranks),
        TEST(run_into_the_limit_later_on_ranks),
        TEST(a_group_ends_while_its_operations_wait_for_a_stream),
        TEST(be_told_on_ranks),
        TEST(synchronize_a_second_stream_on_ranks),
        TEST(synchronize_before_and_after_the_end_on_ranks),
        TEST(synchronize_on_another_thread_on_ranks),
        TEST(free_after_synchronize_on_ranks),
        TEST(go_on_in_the_order_of_the_stream_on_ranks),
        TEST(follow_the_default_stream_on_ranks),
        TEST(use_streams_without_a_handle_on_ranks),
        TEST(synchronize_what_moves_nothing_on_ranks),
        TEST(synchronize_a_message_on_ranks),
    };
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
