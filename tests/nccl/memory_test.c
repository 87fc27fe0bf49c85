/* Memory of tutti_memory_alloc on the devices of a group whose backend is NCCL. Each rank is a
 * process that tuttirun has started.
 *   nccl_memory_test WHAT [ends]
 * What the double of NCCL makes of such memory: windows, registered (on each rank alone), plain.
 * ends: only a group that ends before its calls, which takes seconds. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "rank_program.h"

enum { COUNT = 100000, PIECES = 3, MANY = 12 };

static const int64_t bytes = COUNT * (int64_t)sizeof(int32_t);
static int registers, has_windows; /* what NCCL does here */

static int windows(void) {
    return on_the_double() ? ask_fake_nccl("fake_nccl_windows") : -1;
}

/* How many pieces of memory this process has registered now. */
static void expect_windows(int wanted) {
    EXPECT(!on_the_double() || windows() == (registers ? wanted : 0));
}

/* All of NCCL's memory is freed, soon. */
static void expect_no_memory(void) {
    while (on_the_double() && ask_fake_nccl("fake_nccl_pieces") > 0) sched_yield();
    EXPECT(windows() <= 0);
}

static tutti_group* open_group(const char* backend, int is_bound) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    if (is_bound) {
        options.device_type = TUTTI_CUDA;
        options.device_index = device;
    }
    OK(tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, backend, NULL, &options, &group, &me.error));
    return group;
}

static void close_group(tutti_group* group) {
    OK(tutti_destroy_process_group(group, NULL, &me.error));
    tutti_group_release(group);
}

static tutti_status try_alloc(tutti_group* group, int64_t size, void** memory, tutti_error* error) {
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    options.device_type = TUTTI_CUDA;
    options.device_index = device;
    return tutti_memory_alloc(group, size, &options, memory, error);
}

static int32_t* alloc(tutti_group* group, int64_t size) {
    void* memory = NULL;
    OK(try_alloc(group, size, &memory, &me.error));
    EXPECT(memory != NULL && (uintptr_t)memory % 256 == 0);
    return (int32_t*)memory;
}

static void set(int32_t* numbers, int64_t count, int32_t value) {
    cuda_fill(numbers, (unsigned char)value, (size_t)count * sizeof(int32_t), NULL);
    cuda_wait(NULL);
}

/* A number that cuda_fill(value) has filled. */
static int32_t filled(int32_t value) {
    return value * 0x01010101;
}

/* Every rank gives 1, at the place where its own numbers are. */
static void sum_up(tutti_group* group, int32_t* numbers, int64_t count) {
    const int32_t size = tutti_get_world_size(group);
    const tutti_buffer buffer = on_cuda(device, numbers, count, TUTTI_INT32);
    set(numbers, count, 1);
    OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    EXPECT(all_are(numbers, count, filled(size)));
}

static void gather_and_scatter(tutti_group* group, int32_t* whole, int32_t* part) {
    const int64_t count = COUNT / me.size;
    const tutti_buffer mine = on_cuda(device, part, count, TUTTI_INT32);
    const tutti_buffer all = on_cuda(device, whole, count * me.size, TUTTI_INT32);
    set(part, count, me.rank);
    OK(tutti_all_gather_into_tensor(group, &mine, &all, NULL, NULL, &me.error));
    for (int32_t rank = 0; rank < me.size; ++rank) {
        EXPECT(all_are(whole + rank * count, count, filled(rank)));
    }
    /* In place: this rank's part is another one than that of the others. */
    const tutti_buffer own = on_cuda(device, whole + me.rank * count, count, TUTTI_INT32);
    set(whole, count * me.size, 1);
    set(whole + me.rank * count, count, me.rank + 2);
    OK(tutti_all_gather_into_tensor(group, &own, &all, NULL, NULL, &me.error));
    for (int32_t rank = 0; rank < me.size; ++rank) {
        EXPECT(all_are(whole + rank * count, count, filled(rank + 2)));
    }
    set(whole, count * me.size, 3);
    OK(tutti_reduce_scatter_tensor(group, &all, &mine, TUTTI_SUM, NULL, NULL, &me.error));
    EXPECT(all_are(part, count, filled(3 * me.size)));
}

/* Messages may lie anywhere. */
static void pass_on(tutti_group* group, int32_t* numbers) {
    const int32_t next = (me.rank + 1) % me.size, last = (me.rank + me.size - 1) % me.size;
    const tutti_buffer from = on_cuda(device, numbers + 64 * me.rank, 1000, TUTTI_INT32);
    const tutti_buffer to = on_cuda(device, numbers + 5000 + 128 * me.rank, 1000, TUTTI_INT32);
    tutti_work* sending = NULL;
    if (me.size == 1) return;
    set(numbers, 10000, me.rank + 1);
    OK(tutti_send(group, &from, next, 0, NULL, &sending, &me.error));
    OK(tutti_recv(group, &to, last, 0, NULL, NULL, NULL, &me.error));
    OK(tutti_work_wait(sending, 0, &me.error));
    tutti_work_release(sending);
    EXPECT(all_are((const int32_t*)to.data, 1000, filled(last + 1)));
}

/* Memory that all ranks have given back is registered no more when they share other memory. */
static void memory_is_registered(const char* backend, int is_bound) {
    tutti_group* const group = open_group(backend, is_bound);
    int32_t* pieces[PIECES];
    for (int i = 0; i < PIECES; ++i) {
        pieces[i] = alloc(group, bytes);
        EXPECT(all_are(pieces[i], COUNT, 0));
        expect_windows(i + 1);
    }
    for (int i = 0; i < PIECES; ++i) sum_up(group, pieces[i], COUNT);
    sum_up(group, pieces[1] + 1000, COUNT / 2);
    gather_and_scatter(group, pieces[0], pieces[2]);
    pass_on(group, pieces[1]);
    for (int i = 0; i < PIECES; ++i) tutti_memory_release(pieces[i]);
    for (int i = 0; i < MANY; ++i) {
        int32_t* const one = alloc(group, bytes + 256 * i);
        sum_up(group, one, COUNT);
        tutti_memory_release(one);
    }
    EXPECT(windows() <= PIECES + MANY);
    close_group(group);
    expect_no_memory();
}

/* The device may still use what the program has given back, and a rank may keep what others do not.
 */
static void ranks_give_back_when_they_like(void) {
    tutti_group* const group = open_group("nccl?symmetric=1", 1);
    int32_t* const kept = alloc(group, bytes);
    int32_t* const second = alloc(group, bytes);
    tutti_work* work = NULL;
    const tutti_buffer buffer = on_cuda(device, kept, COUNT, TUTTI_INT32);
    set(kept, COUNT, 1);
    OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, &work, &me.error));
    if (me.rank == 0) tutti_memory_release(kept);
    if (me.rank == me.size - 1) tutti_memory_release(second);
    OK(tutti_work_wait(work, 0, &me.error));
    tutti_work_release(work);
    int32_t* const third = alloc(group, bytes);
    if (me.size > 1) expect_windows(3);
    sum_up(group, third, COUNT);
    if (me.rank != 0) tutti_memory_release(kept);
    if (me.rank != me.size - 1) tutti_memory_release(second);
    OK(tutti_barrier(group, NULL, NULL, &me.error));
    int32_t* const last = alloc(group, bytes);
    sum_up(group, last, COUNT);
    close_group(group);
    EXPECT(windows() <= 0);
    set(third, COUNT, 5); /* and it outlives the group */
    EXPECT(all_are(third, COUNT, filled(5)));
    tutti_memory_release(third);
    tutti_memory_release(last);
    expect_no_memory();
}

/* Memory that cannot be registered on all ranks is plain: other sizes, memory of the CPU, or none
 * of NCCL's. */
static void ranks_may_differ(void) {
    tutti_group* const group = open_group("nccl?symmetric=1", 0);
    int32_t* const uneven = alloc(group, bytes + 4096 * me.rank);
    if (me.size > 1) expect_windows(0);
    sum_up(group, uneven, COUNT);
    void* mixed = NULL;
    if (me.rank == 0) {
        OK(tutti_memory_alloc(group, bytes, NULL, &mixed, &me.error));
    } else {
        mixed = alloc(group, bytes);
    }
    expect_windows(me.size > 1 ? 0 : 1);
    if (me.rank == me.size - 1) setenv("TUTTI_FAKE_NCCL_ALLOC_FAILS", "1", 1);
    int32_t* const plain = alloc(group, bytes);
    setenv("TUTTI_FAKE_NCCL_ALLOC_FAILS", "0", 1);
    expect_windows(me.size > 1 ? 0 : 1);
    sum_up(group, plain, COUNT);
    int32_t* const nothing = alloc(group, 0);
    int32_t* const alike = alloc(group, bytes);
    expect_windows(me.size > 1 ? 1 : 2);
    sum_up(group, alike, COUNT);
    tutti_memory_release(uneven);
    tutti_memory_release(mixed);
    tutti_memory_release(plain);
    tutti_memory_release(nothing);
    tutti_memory_release(alike);
    close_group(group);
    expect_no_memory();
}

/* Rank 1 has none left. */
static void a_rank_without_memory_is_named(void) {
    tutti_group* const group = open_group("nccl?symmetric=1", 1);
    void* memory = NULL;
    int32_t* const before = alloc(group, bytes);
    char* const rest = me.rank == 1 ? (char*)cuda_alloc(free_bytes() - (size_t)bytes) : NULL;
    EXPECT(try_alloc(group, 2 * bytes, &memory, &me.error) == TUTTI_ERR_OUT_OF_MEMORY);
    EXPECT(me.error.rank == 1 && memory == NULL);
    EXPECT(strstr(me.error.message, me.rank == 1 ? "memory_alloc" : "rank 1 can have no memory") !=
           NULL);
    expect_windows(1);
    int32_t* const after = alloc(group, bytes / 2);
    sum_up(group, after, COUNT / 2);
    sum_up(group, before, COUNT);
    if (rest != NULL) cuda_free(rest);
    tutti_memory_release(before);
    tutti_memory_release(after);
    close_group(group);
    expect_no_memory();
}

/* Groups do without unless they ask for it; then ranks may give any places to a call. */
static void plain_memory_has_any_place(void) {
    tutti_group* const group = open_group("nccl", 1);
    int32_t* const numbers = alloc(group, 2 * bytes);
    EXPECT(windows() <= 0);
    sum_up(group, numbers + 256 * me.rank, COUNT);
    tutti_memory_release(numbers);
    close_group(group);
}

/* A registration has its place among the calls of its group. */
static void calls_may_be_under_way(const char* backend) {
    tutti_group* const group = open_group(backend, 0);
    int32_t* const numbers[2] = {alloc(group, bytes), numbers_of(COUNT, 1)};
    int32_t* more[4];
    tutti_work* works[8];
    set(numbers[0], COUNT, 0);
    for (int i = 0; i < 8; ++i) {
        const tutti_buffer buffer = on_cuda(device, numbers[i % 2], COUNT, TUTTI_INT32);
        OK(tutti_broadcast(group, &buffer, i % me.size, NULL, &works[i], &me.error));
        if (i % 2 == 0) more[i / 2] = alloc(group, bytes);
    }
    for (int i = 0; i < 8; ++i) {
        OK(tutti_work_wait(works[i], 0, &me.error));
        tutti_work_release(works[i]);
    }
    for (int i = 0; i < 4; ++i) {
        sum_up(group, more[i], COUNT);
        tutti_memory_release(more[i]);
    }
    tutti_memory_release(numbers[0]);
    cuda_free(numbers[1]);
    close_group(group);
    expect_no_memory();
}

/* Messages of another thread are on their way all the time. */
static tutti_group* busy;

static void* pass_on_many(void* argument) {
    tutti_error* const error = (tutti_error*)argument;
    const int32_t next = (me.rank + 1) % me.size, last = (me.rank + me.size - 1) % me.size;
    use_device(&me);
    int32_t* const numbers[2] = {numbers_of(1000, me.rank), numbers_of(1000, -1)};
    const tutti_buffer from = on_cuda(device, numbers[0], 1000, TUTTI_INT32);
    const tutti_buffer to = on_cuda(device, numbers[1], 1000, TUTTI_INT32);
    void* failed = NULL;
    for (int i = 0; i < 10 * MANY && failed == NULL; ++i) {
        tutti_work* sending = NULL;
        if (tutti_send(busy, &from, next, 0, NULL, &sending, error) != TUTTI_OK ||
            tutti_recv(busy, &to, last, 0, NULL, NULL, NULL, error) != TUTTI_OK ||
            tutti_work_wait(sending, 0, error) != TUTTI_OK || !all_are(numbers[1], 1000, last)) {
            failed = error;
        }
        tutti_work_release(sending);
    }
    cuda_free(numbers[0]);
    cuda_free(numbers[1]);
    return failed;
}

static void messages_may_be_under_way(void) {
    pthread_t thread;
    tutti_error error;
    void* failed = NULL;
    tutti_error_init(&error, sizeof error);
    busy = open_group("nccl?symmetric=1", 1);
    EXPECT(pthread_create(&thread, NULL, pass_on_many, &error) == 0);
    for (int i = 0; i < MANY; ++i) tutti_memory_release(alloc(busy, bytes));
    EXPECT(pthread_join(thread, &failed) == 0);
    if (failed != NULL) me.error = error;
    EXPECT(failed == NULL);
    close_group(busy);
    expect_no_memory();
}

/* Two groups at once, whose turns on the device may come in another order on each rank. */
typedef struct {
    tutti_group* group;
    tutti_error error;
} allocator;

static void* alloc_many(void* argument) {
    allocator* const one = (allocator*)argument;
    for (int i = 0; i < MANY; ++i) {
        void* memory = NULL;
        if (try_alloc(one->group, bytes, &memory, &one->error) != TUTTI_OK) return one;
        tutti_memory_release(memory);
    }
    return NULL;
}

static void two_groups_share_at_once(void) {
    allocator both[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        both[i].group = open_group("nccl?symmetric=1", 1);
        tutti_error_init(&both[i].error, sizeof both[i].error);
    }
    for (int i = 0; i < 2; ++i) {
        EXPECT(pthread_create(&threads[i], NULL, alloc_many, &both[(i + me.rank) % 2]) == 0);
    }
    for (int i = 0; i < 2; ++i) {
        void* failed = NULL;
        EXPECT(pthread_join(threads[i], &failed) == 0);
        if (failed != NULL) me.error = ((allocator*)failed)->error;
        EXPECT(failed == NULL);
    }
    for (int i = 0; i < 2; ++i) close_group(both[i].group);
    expect_no_memory();
}

/* Memory of a group in calls of another one is memory like any. */
static void a_group_of_the_group_uses_it(void) {
    tutti_group *const group = open_group("nccl?symmetric=1", 1), *part = NULL;
    int32_t* const numbers = alloc(group, bytes);
    sum_up(group, numbers, COUNT);
    OK(tutti_new_group(group, NULL, 0, NULL, NULL, NULL, &part, &me.error));
    sum_up(part, numbers, COUNT);
    int32_t* const its = alloc(part, bytes);
    expect_windows(2);
    sum_up(part, its, COUNT);
    close_group(group);
    expect_windows(1);
    sum_up(part, numbers, COUNT);
    sum_up(part, its, COUNT);
    tutti_memory_release(numbers);
    tutti_memory_release(its);
    close_group(part);
    expect_no_memory();
}

/* Its windows stay then: the device uses them. */
static void a_group_may_end_before_its_calls(void) {
    tutti_group* const group = open_group("nccl?symmetric=1", 1);
    int32_t* const numbers = alloc(group, bytes);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    gate* const held = gate_make();
    sum_up(group, numbers, COUNT);
    options.stream = cuda_make_stream();
    gate_close(held, options.stream);
    OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, &options, NULL, &me.error));
    close_group(group);
    gate_open(held);
    cuda_wait(options.stream);
    cuda_end_stream(options.stream);
    gate_end(held);
    tutti_memory_release(numbers);
    expect_no_memory();
}

/* One that fails while its device does nothing; the double reports what is registered then. */
static void a_group_that_fails_deregisters(void) {
    tutti_group* const group = open_group("cpu:gloo,cuda:nccl?symmetric=1", 1);
    int32_t here[2] = {0, 0};
    const tutti_buffer uneven = TUTTI_BUFFER_INIT(here, 1 + me.rank % 2, TUTTI_INT32);
    int32_t* const numbers = alloc(group, bytes);
    sum_up(group, numbers, COUNT);
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    setenv("TUTTI_FAKE_NCCL_STRICT_ABORT", "1", 1);
    const tutti_status status =
        tutti_all_reduce(group, NULL, &uneven, TUTTI_SUM, NULL, NULL, &me.error);
    EXPECT((status == TUTTI_OK) == (me.size == 1));
    close_group(group);
    while (windows() > 0) sched_yield(); /* a thread of its own does it */
    tutti_memory_release(numbers);
    expect_no_memory();
    setenv("TUTTI_FAKE_NCCL_STRICT_ABORT", "0", 1);
}

static void a_registration_that_fails_ends_the_group(void) {
    tutti_group* const group = open_group("nccl?symmetric=1", 0);
    void* memory = NULL;
    int32_t* const before = alloc(group, bytes);
    setenv("TUTTI_FAKE_NCCL_WINDOW_FAILS", "1", 1);
    EXPECT(try_alloc(group, bytes, &memory, &me.error) == TUTTI_ERR_BACKEND && memory == NULL);
    EXPECT(strstr(me.error.message, "memory_alloc") != NULL &&
           strstr(me.error.message, "system error") != NULL);
    setenv("TUTTI_FAKE_NCCL_WINDOW_FAILS", "0", 1);
    close_group(group);
    tutti_memory_release(before);
    expect_no_memory();
}

static void run_all(void) {
    memory_is_registered("nccl?symmetric=1", 0);
    memory_is_registered("nccl?symmetric=1", 1);
    memory_is_registered("cpu:gloo,cuda:nccl?symmetric=1", 0);
    ranks_give_back_when_they_like();
    ranks_may_differ();
    if (on_the_double() && me.size > 1) a_rank_without_memory_is_named();
    plain_memory_has_any_place();
    calls_may_be_under_way("nccl?symmetric=1");
    calls_may_be_under_way("cpu:shm,cuda:nccl?symmetric=1");
    if (me.size > 1) messages_may_be_under_way();
    two_groups_share_at_once();
    a_group_of_the_group_uses_it();
    a_group_that_fails_deregisters();
    if (has_windows) a_registration_that_fails_ends_the_group();
}

int main(int argc, char** argv) {
    registers = argc > 1 && strcmp(argv[1], "plain") != 0;
    has_windows = argc > 1 && strcmp(argv[1], "windows") == 0;
    tutti_error_init(&me.error, sizeof me.error);
    OK(tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, &me.error));
    me.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    me.size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    device = use_device(&me);
    if (argc > 2) {
        a_group_may_end_before_its_calls();
    } else {
        run_all();
    }
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error));
    return 0;
}
