/* Groups whose communicators NCCL makes by a split of another one's. Each rank is a process that
 * tuttirun has started. */
#include <string.h>

#include "rank_program.h"

enum { COUNT = 100000 };

/* How often this process has split a communicator, of the double of NCCL; -1: of NCCL itself. */
static int splits(void) {
    return on_the_double() ? ask_fake_nccl("fake_nccl_splits") : -1;
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

/* NCCL knows the new group by the name that tutti gave it, if it knows names. */
static void expect_name(tutti_group* group) {
    tutti_bytes* name = NULL;
    OK(tutti_group_get_name(group, &name, &me.error));
    if (splits() >= 0 && strstr(fake_nccl_config(), "comm_name=") != NULL) {
        const char* const given = strstr(fake_nccl_config(), "comm_name=") + strlen("comm_name=");
        const size_t size = tutti_bytes_size(name);
        EXPECT(strlen(given) == size && memcmp(given, tutti_bytes_data(name), size) == 0);
    }
    tutti_bytes_release(name);
}

/* Ranks 2 and 0; NULL on rank 1. */
static tutti_group* split(tutti_group* group) {
    const int32_t ranks[] = {2, 0};
    const int64_t sizes[] = {2};
    tutti_group* part = NULL;
    OK(tutti_split_group(group, ranks, 2, sizes, 1, NULL, NULL, &part, &me.error));
    EXPECT((part == TUTTI_GROUP_NON_MEMBER) == (me.rank == 1));
    return part == TUTTI_GROUP_NON_MEMBER ? NULL : part;
}

/* The sum of the ranks of a group in the first one. */
static void sum_up(tutti_group* group, int32_t wanted) {
    int32_t* const memory = numbers_of(COUNT, me.rank);
    const tutti_buffer buffer = on_cuda(device, memory, COUNT, TUTTI_INT32);
    OK(tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me.error));
    EXPECT(all_are(memory, COUNT, wanted));
    cuda_free(memory);
}

/* One that is not bound may be elsewhere later. */
static void a_group_that_cannot_split_opens(const char* backend) {
    tutti_group* const unbound = open_group(backend, 0);
    sum_up(unbound, 3);
    tutti_group* const part = split(unbound);
    if (part != NULL) sum_up(part, 2), close_group(part);
    EXPECT(splits() <= 0);
    close_group(unbound);
}

/* The communicator of a group that is bound is made with it. */
static void a_group_splits_before_its_first_call(const char* backend) {
    const int before = splits();
    close_group(open_group(backend, 1));
    tutti_group* const unused = open_group(backend, 1);
    tutti_group* const part = split(unused);
    if (part != NULL) sum_up(part, 2), close_group(part);
    EXPECT(before < 0 || splits() == before + 1);
    close_group(unused);
}

/* The one in between ends before its child does. */
static void groups_are_made_by_splits(const char* backend) {
    const int before = splits();
    tutti_group *whole = NULL, *part = NULL;
    tutti_group* const group = open_group(backend, 1);
    sum_up(group, 3);
    OK(tutti_new_group(group, NULL, 0, NULL, NULL, NULL, &whole, &me.error));
    sum_up(whole, 3);
    EXPECT(before < 0 || splits() == before + 1);
    expect_name(whole);
    part = split(whole);
    if (part != NULL) expect_name(part);
    EXPECT(before < 0 || splits() == before + 2);
    sum_up(whole, 3);
    close_group(whole);
    if (part != NULL) sum_up(part, 2), close_group(part);
    sum_up(group, 3);
    close_group(group);
}

/* The split waits until NCCL is done with what came before. */
static void calls_may_be_under_way(const char* backend) {
    tutti_group* const group = open_group(backend, 1);
    int32_t* const memory = numbers_of(COUNT, me.rank);
    const tutti_buffer buffer = on_cuda(device, memory, COUNT, TUTTI_INT32);
    tutti_work* works[3] = {NULL, NULL, NULL};
    sum_up(group, 3);
    for (int i = 0; i < 3; ++i) {
        OK(tutti_broadcast(group, &buffer, i, NULL, &works[i], &me.error));
    }
    tutti_group* const part = split(group);
    if (part != NULL) sum_up(part, 2), close_group(part);
    for (int i = 0; i < 3; ++i) {
        OK(tutti_work_wait(works[i], 0, &me.error));
        tutti_work_release(works[i]);
    }
    EXPECT(all_are(memory, COUNT, 0));
    cuda_free(memory);
    close_group(group);
}

int main(void) {
    tutti_error_init(&me.error, sizeof me.error);
    OK(tutti_init_process_group("gloo", NULL, NULL, -1, -1, NULL, &me.error));
    me.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    me.size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    device = use_device(&me);
    a_group_that_cannot_split_opens("nccl");
    a_group_splits_before_its_first_call("nccl");
    groups_are_made_by_splits("nccl");
    groups_are_made_by_splits("cpu:gloo,cuda:nccl");
    groups_are_made_by_splits("nccl?split_share=1");
    for (int turn = 0; turn < 5; ++turn) calls_may_be_under_way("nccl");
    OK(tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &me.error));
    OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error));
    return 0;
}
