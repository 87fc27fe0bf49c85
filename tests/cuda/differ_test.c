/* Ranks that do not call alike: some on a device, some on the CPU. The first argument is the
 * backend. */
#include "capi/on_ranks.h"
#include "on_devices.h"

enum { COUNT = 500 };

typedef tutti_status (*operation)(rank_context* me, const tutti_buffer* buffer,
                                  const tutti_buffer* list);

static tutti_status all_reduce(rank_context* me, const tutti_buffer* buffer,
                               const tutti_buffer* list) {
    (void)list;
    return add_up(me, buffer, NULL, NULL);
}
static tutti_status broadcast(rank_context* me, const tutti_buffer* buffer,
                              const tutti_buffer* list) {
    (void)list;
    return tutti_broadcast(me->group, buffer, 0, NULL, NULL, &me->error);
}
static tutti_status all_gather(rank_context* me, const tutti_buffer* buffer,
                               const tutti_buffer* list) {
    return tutti_all_gather(me->group, buffer, list, me->size, NULL, NULL, &me->error);
}
static tutti_status all_to_all(rank_context* me, const tutti_buffer* buffer,
                               const tutti_buffer* list) {
    (void)buffer;
    return tutti_all_to_all(me->group, NULL, 0, list, me->size, NULL, NULL, &me->error);
}

static const operation operations[] = {all_reduce, broadcast, all_gather, all_to_all};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void call_on_different_devices(rank_context* me) {
    const int32_t device = use_device(me);
    const int on_device = me->rank == 1;
    int32_t here[3][COUNT];
    int32_t* there[3];
    tutti_buffer buffers[3];
    memset(here, 0, sizeof here);
    for (int i = 0; i < 3; ++i) {
        const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here[i], COUNT, TUTTI_INT32);
        there[i] = numbers_of(COUNT, 0);
        buffers[i] = on_device ? on_cuda(device, there[i], COUNT, TUTTI_INT32) : on_cpu;
    }
    const int which = *(const int*)me->user;
    const tutti_status status = operations[which](me, &buffers[2], buffers);
    if (operations[which] == broadcast && me->rank == 0 && status == TUTTI_OK) {
        tutti_destroy_process_group(me->group, NULL, NULL); /* it need not wait for anyone */
        me->group = NULL;
        return;
    }
    RANK_STATUS(me, status, TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "on cuda");
    RANK_SAYS(me, "rank 1");
    for (int i = 0; i < 3; ++i) {
        RANK_EXPECT(me, all_are(there[i], COUNT, 0) && here[i][0] == 0);
        cuda_free(there[i]);
    }
    tutti_destroy_process_group(me->group, NULL, NULL);
    me->group = NULL;
}

static void ranks_that_differ_in_their_device_name_both(void** state) {
    (void)state;
    for (int which = 0; which < OPERATIONS; ++which) {
        RUN_WITH(2, call_on_different_devices, &which);
    }
}

/* Their devices may have any numbers. */
static void call_on_devices_of_one_kind(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const numbers = numbers_of(COUNT, 2);
    const tutti_buffer buffer = on_cuda(device, numbers, COUNT, TUTTI_INT32);
    RANK_OK(me, add_up(me, &buffer, NULL, NULL));
    RANK_EXPECT(me, all_are(numbers, COUNT, 2 * me->size));
    cuda_free(numbers);
}

RANK_TEST(call_on_devices_of_one_kind, 4)

/* Calls of one group on both, in any order of turns. */
static void take_turns(rank_context* me) {
    const int32_t device = use_device(me);
    int32_t* const there = numbers_of(COUNT, 1);
    int32_t here[COUNT];
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here, COUNT, TUTTI_INT32);
    const tutti_buffer buffer = on_cuda(device, there, COUNT, TUTTI_INT32);
    tutti_work* works[8];
    int32_t right = 1;
    for (int i = 0; i < COUNT; ++i) here[i] = 1;
    for (int turn = 0; turn < 4; ++turn, right *= me->size) {
        RANK_OK(me, add_up(me, &buffer, NULL, &works[2 * turn]));
        RANK_OK(me, add_up(me, &on_cpu, NULL, &works[2 * turn + 1]));
    }
    RANK_OK(me, tutti_work_wait_all(works, 8, 0, &me->error));
    for (int i = 0; i < 8; ++i) tutti_work_release(works[i]);
    RANK_EXPECT(me, here[0] == right && here[COUNT - 1] == right);
    RANK_EXPECT(me, all_are(there, COUNT, right));
    cuda_free(there);
}

RANK_TEST(take_turns, 3)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(ranks_that_differ_in_their_device_name_both),
        TEST(call_on_devices_of_one_kind_on_ranks),
        TEST(take_turns_on_ranks),
    };
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
