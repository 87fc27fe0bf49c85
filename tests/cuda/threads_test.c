/* Several groups at once on one device, each rank a thread with a stream of its own. The first
 * argument is the backend. */
#include <pthread.h>
#include <stdlib.h>

#include "capi/on_ranks.h"
#include "on_devices.h"
#include "support/sanitizers.h"

enum { TEAMS = 3, COUNT = 3000, TURNS = SANITIZED ? 10 : 40 };

typedef struct place {
    int32_t device;
    void* stream;
    tutti_call_options options;
    tutti_buffer buffer, other;
} place;

static void sum_in_the_background(rank_context* me, const place* all) {
    tutti_work* work = NULL;
    RANK_OK(me, add_up(me, &all->buffer, &all->options, &work));
    RANK_OK(me, tutti_work_synchronize(work, all->stream, &me->error));
    tutti_work_release(work);
}

static void sum_as_one(rank_context* me, const place* all) {
    tutti_coalescing_options for_device = TUTTI_COALESCING_OPTIONS_INIT;
    tutti_group* coalescing = NULL;
    for_device.device_type = TUTTI_CUDA;
    for_device.device_index = all->device;
    RANK_OK(me, tutti_coalescing_begin(me->group, &for_device, &coalescing, &me->error));
    RANK_OK(me,
            tutti_all_reduce(coalescing, NULL, &all->buffer, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_OK(me, tutti_coalescing_end(coalescing, &all->options, NULL, &me->error));
}

static void sum_after_a_message(rank_context* me, const place* all) {
    const int32_t peer = 1 - me->rank;
    tutti_work* sending = NULL;
    RANK_OK(me, tutti_send(me->group, &all->buffer, peer, 0, &all->options, &sending, &me->error));
    RANK_OK(me, tutti_recv(me->group, &all->other, peer, 0, &all->options, NULL, NULL, &me->error));
    RANK_OK(me, tutti_work_wait(sending, 0, &me->error));
    tutti_work_release(sending);
    RANK_OK(me, tutti_all_reduce(me->group, &all->other, &all->buffer, TUTTI_SUM, &all->options,
                                 NULL, &me->error));
}

static void sum_in_shared_memory(rank_context* me, const place* all) {
    tutti_memory_options options = TUTTI_MEMORY_OPTIONS_INIT;
    const size_t bytes = COUNT * sizeof(int32_t);
    void* memory = NULL;
    options.device_type = TUTTI_CUDA;
    options.device_index = all->device;
    RANK_OK(me, tutti_memory_alloc(me->group, (int64_t)bytes, &options, &memory, &me->error));
    const tutti_buffer shared = on_cuda(all->device, memory, COUNT, TUTTI_INT32);
    cuda_copy(memory, all->buffer.data, bytes, all->stream);
    RANK_OK(me, add_up(me, &shared, &all->options, NULL));
    cuda_copy(all->buffer.data, memory, bytes, all->stream);
    cuda_wait(all->stream);
    tutti_memory_release(memory);
}

static void take_turns(rank_context* me) {
    static void (*const ways[])(rank_context*, const place*) = {
        sum_in_the_background, sum_as_one, sum_after_a_message, sum_in_shared_memory};
    place all;
    all.device = use_device(me);
    all.stream = cuda_make_stream();
    all.options = (tutti_call_options)TUTTI_CALL_OPTIONS_INIT;
    all.options.stream = all.stream;
    int32_t *const numbers = numbers_of(COUNT, 1), *const others = numbers_of(COUNT, 0);
    int32_t* const ones = numbers_of(COUNT, 1);
    all.buffer = on_cuda(all.device, numbers, COUNT, TUTTI_INT32);
    all.other = on_cuda(all.device, others, COUNT, TUTTI_INT32);
    int32_t right = 1;
    for (int turn = 0; turn < TURNS && !me->failed; ++turn) {
        if (right > 1000000) { /* begin again, in the stream's order */
            cuda_copy(numbers, ones, COUNT * sizeof *ones, all.stream);
            right = 1;
        }
        ways[turn % 4](me, &all);
        right *= me->size;
    }
    cuda_wait(all.stream);
    RANK_EXPECT(me, all_are(numbers, COUNT, right));
    cuda_free(numbers);
    cuda_free(others);
    cuda_free(ones);
    cuda_end_stream(all.stream);
}

static void* run_team(void* failed) {
    *(int*)failed = run_ranks(backend, 2, take_turns, NULL);
    return NULL;
}

static void groups_on_one_device_do_not_disturb_each_other(void** state) {
    (void)state;
    pthread_t threads[TEAMS];
    int failed[TEAMS];
    for (int i = 0; i < TEAMS; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_team, &failed[i]), 0);
    }
    for (int i = 0; i < TEAMS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(failed[i], 0);
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {TEST(groups_on_one_device_do_not_disturb_each_other)};
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
