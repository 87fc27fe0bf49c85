/* Memory that ranks share, ranks as threads, over the backend that the argument names. What
 * collectives do with it is conformance's matter. */
#include <stdlib.h>

#include "on_ranks.h"

enum { COUNT = 20000 }; /* beyond what goes with a letter or in a line */

static tutti_status alloc_numbers(rank_context* me, int64_t count, int64_t** numbers) {
    void* memory = NULL;
    const tutti_status status =
        tutti_memory_alloc(me->group, (size_t)count * sizeof **numbers, NULL, &memory, &me->error);
    *numbers = (int64_t*)memory;
    return status;
}

static tutti_buffer buffer_of(int64_t* numbers, int64_t count) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_INT64);
    return buffer;
}

static void memory_is_zero_and_aligned(rank_context* me) {
    int64_t* numbers = NULL;
    RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
    RANK_EXPECT(me, (uintptr_t)numbers % 4096 == 0);
    for (int i = 0; i < COUNT; ++i) RANK_EXPECT(me, numbers[i] == 0);
    tutti_memory_release(numbers);
}
RANK_TEST(memory_is_zero_and_aligned, 3)

static void sizes_may_differ(rank_context* me) {
    int64_t* numbers = NULL;
    RANK_OK(me, alloc_numbers(me, (int64_t)me->rank * COUNT, &numbers)); /* none on rank 0 */
    RANK_EXPECT(me, numbers != NULL);
    int64_t zero[COUNT] = {0};
    if (me->rank == 2) {
        for (int i = 0; i < COUNT; ++i) numbers[COUNT + i] = 3 * i;
    }
    const tutti_buffer data = buffer_of(me->rank == 2 ? numbers + COUNT : zero, COUNT);
    RANK_OK(me, tutti_broadcast(me->group, &data, 2, NULL, NULL, &me->error));
    for (int i = 0; i < COUNT; ++i) RANK_EXPECT(me, ((int64_t*)data.data)[i] == 3 * i);
    tutti_memory_release(numbers);
}
RANK_TEST(sizes_may_differ, 3)

static void several_are_used_together(rank_context* me) {
    int64_t *given = NULL, *taken = NULL;
    RANK_OK(me, alloc_numbers(me, COUNT, &given));
    RANK_OK(me, alloc_numbers(me, (int64_t)me->size * COUNT, &taken));
    for (int i = 0; i < COUNT; ++i) given[i] = me->rank + i;
    const tutti_buffer input = buffer_of(given, COUNT);
    const tutti_buffer output = buffer_of(taken, (int64_t)me->size * COUNT);
    RANK_OK(me, tutti_all_gather_into_tensor(me->group, &input, &output, NULL, NULL, &me->error));
    for (int i = 0; i < me->size * COUNT; ++i) {
        RANK_EXPECT(me, taken[i] == i / COUNT + i % COUNT);
    }
    tutti_memory_release(given);
    const tutti_buffer sum = buffer_of(taken, COUNT);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &sum, TUTTI_SUM, NULL, NULL, &me->error));
    for (int i = 0; i < COUNT; ++i) RANK_EXPECT(me, taken[i] == (int64_t)me->size * i);
    tutti_memory_release(taken);
}
RANK_TEST(several_are_used_together, 4)

static void messages_are_read_there(rank_context* me) {
    int64_t* numbers = NULL;
    RANK_OK(me, alloc_numbers(me, 2 * COUNT, &numbers));
    for (int i = 0; i < COUNT; ++i) numbers[i] = me->rank * COUNT + i;
    const tutti_buffer given = buffer_of(numbers, COUNT);
    const tutti_buffer taken = buffer_of(numbers + COUNT, COUNT);
    const int32_t right = (me->rank + 1) % me->size, left = (me->rank + me->size - 1) % me->size;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_send(me->group, &given, right, 0, NULL, &work, &me->error));
    RANK_OK(me, tutti_recv(me->group, &taken, left, 0, NULL, NULL, NULL, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    for (int i = 0; i < COUNT; ++i) RANK_EXPECT(me, numbers[COUNT + i] == left * COUNT + i);
    tutti_memory_release(numbers);
}
RANK_TEST(messages_are_read_there, 3)

static void other_groups_take_it_as_any_memory(rank_context* me) {
    int64_t* numbers = NULL;
    tutti_group* pair = NULL;
    const int32_t members[] = {0, 2};
    RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
    RANK_OK(me, tutti_new_group(me->group, members, 2, NULL, NULL, NULL, &pair, &me->error));
    if (pair != TUTTI_GROUP_NON_MEMBER) {
        for (int i = 0; i < COUNT; ++i) numbers[i] = i;
        const tutti_buffer sum = buffer_of(numbers, COUNT);
        RANK_OK(me, tutti_all_reduce(pair, NULL, &sum, TUTTI_SUM, NULL, NULL, &me->error));
        for (int i = 0; i < COUNT; ++i) RANK_EXPECT(me, numbers[i] == 2 * i);
        tutti_group_release(pair);
    }
    tutti_memory_release(numbers);
}
RANK_TEST(other_groups_take_it_as_any_memory, 3)

static void one_rank_without_fails_all_and_no_more(rank_context* me) {
    void* memory = &memory;
    const size_t bytes = me->rank == 1 ? (size_t)1 << 60 : 4096;
    RANK_STATUS(me, tutti_memory_alloc(me->group, bytes, NULL, &memory, &me->error),
                TUTTI_ERR_OUT_OF_MEMORY);
    RANK_EXPECT(me, me->error.rank == 1 && memory == (void*)&memory);
    RANK_SAYS(me, "rank 1");
    int64_t* numbers = NULL;
    RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
    numbers[COUNT - 1] = 1;
    const tutti_buffer sum = buffer_of(numbers, COUNT);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &sum, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_EXPECT(me, numbers[COUNT - 1] == me->size);
    tutti_memory_release(numbers);
}
RANK_TEST(one_rank_without_fails_all_and_no_more, 3)

static void who_calls_something_else_is_told(rank_context* me) {
    void* memory = NULL;
    const tutti_status status = me->rank == 0
                                    ? tutti_memory_alloc(me->group, 64, NULL, &memory, &me->error)
                                    : tutti_barrier(me->group, NULL, NULL, &me->error);
    RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "memory_alloc #");
    RANK_SAYS(me, "barrier #");
}
RANK_TEST(who_calls_something_else_is_told, 2)

static void it_cannot_be_coalesced(rank_context* me) {
    void* memory = NULL;
    tutti_group* coalescing = NULL;
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    RANK_STATUS(me, tutti_memory_alloc(coalescing, 64, NULL, &memory, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    tutti_group_release(coalescing);
}
RANK_TEST(it_cannot_be_coalesced, 2)

static void it_stays_when_the_group_ends(rank_context* me) {
    int64_t* numbers = NULL;
    RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
    numbers[7] = 7;
    RANK_OK(me, tutti_destroy_process_group(me->group, NULL, &me->error));
    tutti_group_release(me->group);
    me->group = NULL;
    RANK_EXPECT(me, numbers[7] == 7);
    tutti_memory_release(numbers);
    tutti_memory_release(numbers); /* ignored */
}
RANK_TEST(it_stays_when_the_group_ends, 2)

/* Its pages stay while an operation that has it runs, and after that nobody looks at them. */
static void it_may_be_released_while_it_is_used(rank_context* me) {
    int64_t *numbers = NULL, *others = NULL, value = 7;
    const tutti_buffer mine = buffer_of(&value, 1);
    tutti_work *receive = NULL, *sum = NULL;
    RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
    RANK_OK(me, alloc_numbers(me, COUNT, &others));
    const tutti_buffer last = buffer_of(numbers + COUNT - 1, 1);
    const tutti_buffer all = buffer_of(others, COUNT);
    for (int64_t i = 0; i < COUNT; ++i) numbers[i] = i;
    RANK_OK(me, tutti_recv(me->group, &last, me->rank, 0, NULL, NULL, &receive, &me->error));
    tutti_memory_release(numbers);
    for (int64_t i = 0; i < COUNT; ++i) RANK_EXPECT(me, numbers[i] == i);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &all, TUTTI_SUM, NULL, &sum, &me->error));
    tutti_memory_release(others);
    RANK_OK(me, tutti_work_wait(sum, 0, &me->error));
    tutti_work_release(sum);
    RANK_OK(me, tutti_send(me->group, &mine, me->rank, 0, NULL, &sum, &me->error));
    RANK_OK(me, tutti_work_wait(receive, 0, &me->error));
    RANK_OK(me, tutti_work_wait(sum, 0, &me->error));
    tutti_work_release(receive);
    tutti_work_release(sum);
}
RANK_TEST(it_may_be_released_while_it_is_used, 2)

/* A coalescing needs the memory of its calls until they are done, or dropped. */
static void it_may_be_released_while_it_is_coalesced(rank_context* me) {
    int64_t *numbers = NULL, *dropped = NULL;
    tutti_group* coalescing = NULL;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
    const tutti_buffer all = buffer_of(numbers, COUNT);
    RANK_OK(me, tutti_all_reduce(coalescing, NULL, &all, TUTTI_SUM, NULL, NULL, &me->error));
    tutti_memory_release(numbers);
    for (int64_t i = 0; i < COUNT; ++i) numbers[i] = i;
    RANK_OK(me, tutti_coalescing_end(coalescing, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    RANK_OK(me, alloc_numbers(me, COUNT, &dropped));
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    const tutti_buffer others = buffer_of(dropped, COUNT);
    RANK_OK(me, tutti_all_reduce(coalescing, NULL, &others, TUTTI_SUM, NULL, NULL, &me->error));
    tutti_memory_release(dropped);
    dropped[COUNT - 1] = 1;
    tutti_group_release(coalescing);
}
RANK_TEST(it_may_be_released_while_it_is_coalesced, 2)

/* Each time the memory before is given back by some ranks later than by others. */
static void thousands_come_and_go(rank_context* me) {
    int64_t *numbers = NULL, *before = NULL;
    for (int turn = 1; turn <= 2000; ++turn) {
        RANK_OK(me, alloc_numbers(me, COUNT, &numbers));
        numbers[turn] = turn;
        const tutti_buffer sum = buffer_of(numbers, COUNT);
        if (me->rank == 0) tutti_memory_release(before);
        RANK_OK(me, tutti_all_reduce(me->group, NULL, &sum, TUTTI_SUM, NULL, NULL, &me->error));
        RANK_EXPECT(me, numbers[turn] == turn * me->size);
        if (me->rank != 0) tutti_memory_release(before);
        before = numbers;
    }
    tutti_memory_release(before);
}
RANK_TEST(thousands_come_and_go, 2)

static void wrong_arguments_are_refused(rank_context* me) {
    void* memory = NULL;
    int on_stack = 0;
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    RANK_REFUSES(me, tutti_memory_alloc(me->group, 64, NULL, NULL, &me->error),
                 "out_memory is NULL");
    RANK_REFUSES(me, tutti_memory_alloc(me->group, -1, NULL, &memory, &me->error), "bytes is -1");
    RANK_STATUS(me, tutti_memory_alloc(me->group, INT64_MAX, NULL, &memory, &me->error),
                TUTTI_ERR_OUT_OF_MEMORY);
    options.device_type = TUTTI_CUDA;
    RANK_STATUS(me, tutti_memory_alloc(me->group, 64, &options, &memory, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_EXPECT(me, rank_says(me, "options.device_type is 1 (cuda)"));
    options.device_type = TUTTI_CPU;
    options.device_index = 1;
    RANK_REFUSES(me, tutti_memory_alloc(me->group, 64, &options, &memory, &me->error),
                 "options.device_index is 1");
    RANK_STATUS(me, tutti_memory_alloc((tutti_group*)&on_stack, 64, NULL, &memory, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    tutti_memory_release(&on_stack);
    tutti_memory_release(NULL);
}
RANK_TEST(wrong_arguments_are_refused, 1)

int main(int count, char** arguments) {
    if (count > 1) backend = arguments[1];
    /* A busy machine must not look like a stopped rank. */
    (void)setenv("TUTTI_HEARTBEAT_TIMEOUT_MS", "0", 1);
    const struct CMUnitTest tests[] = {
        TEST(memory_is_zero_and_aligned_on_ranks),
        TEST(sizes_may_differ_on_ranks),
        TEST(several_are_used_together_on_ranks),
        TEST(messages_are_read_there_on_ranks),
        TEST(other_groups_take_it_as_any_memory_on_ranks),
        TEST(one_rank_without_fails_all_and_no_more_on_ranks),
        TEST(who_calls_something_else_is_told_on_ranks),
        TEST(it_cannot_be_coalesced_on_ranks),
        TEST(it_stays_when_the_group_ends_on_ranks),
        TEST(it_may_be_released_while_it_is_used_on_ranks),
        TEST(it_may_be_released_while_it_is_coalesced_on_ranks),
        TEST(thousands_come_and_go_on_ranks),
        TEST(wrong_arguments_are_refused_on_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
