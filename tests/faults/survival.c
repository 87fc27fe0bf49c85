#include "survival.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "operations.h"

enum { MOST_RANKS = 8, LARGE = 50000, MESSAGE = 20000, LATEST_US = 6000, CALLS = 7 };

static uint64_t dice;
static int ending;

static int below(int limit) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((dice >> 33) % (uint64_t)limit);
}

static void die(int signal_number) {
    (void)signal_number;
    raise(ending);
}

static void check(int is_right) {
    if (!is_right) exit(9);
}

/* The members as one number. */
static uint64_t members(void) {
    int32_t ranks[MOST_RANKS];
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    check(tutti_get_process_group_ranks(TUTTI_GROUP_WORLD, ranks, MOST_RANKS, NULL) == TUTTI_OK);
    uint64_t number = 0;
    for (int32_t rank = 0; rank < size; ++rank) number = number * 131 + (uint64_t)ranks[rank] + 1;
    return number;
}

static tutti_status compare_members(uint64_t own, tutti_error* error) {
    uint64_t all[MOST_RANKS];
    const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    const tutti_buffer input = TUTTI_BUFFER_INIT(&own, 1, TUTTI_UINT64);
    const tutti_buffer output = TUTTI_BUFFER_INIT(all, size, TUTTI_UINT64);
    const tutti_status status =
        tutti_all_gather_into_tensor(TUTTI_GROUP_WORLD, &input, &output, NULL, NULL, error);
    for (int32_t rank = 0; status == TUTTI_OK && rank < size; ++rank) check(all[rank] == own);
    return status;
}

static tutti_status sum(tutti_group* group, int64_t count, tutti_error* error) {
    static float numbers[LARGE];
    for (int64_t index = 0; index < count; ++index) numbers[index] = 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_FLOAT32);
    const tutti_status status =
        tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, error);
    const float size = (float)tutti_get_world_size(group);
    for (int64_t index = 0; status == TUTTI_OK && index < count; ++index)
        check(numbers[index] == size);
    return status;
}

static tutti_status sum_in_new_group(tutti_error* error) {
    tutti_group* group = NULL;
    tutti_status status =
        tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, NULL, NULL, &group, error);
    if (status != TUTTI_OK) return status;
    status = sum(group, 1, error);
    tutti_destroy_process_group(group, NULL, NULL);
    tutti_group_release(group);
    return status;
}

static tutti_status pass_round(int32_t rank, int32_t size, tutti_error* error) {
    static char out[MESSAGE], in[MESSAGE];
    const tutti_buffer sent = TUTTI_BUFFER_INIT(out, MESSAGE, TUTTI_INT8);
    const tutti_buffer received = TUTTI_BUFFER_INIT(in, MESSAGE, TUTTI_INT8);
    tutti_work* work = NULL;
    memset(out, 1 + rank, sizeof out);
    const int32_t from = (rank + size - 1) % size;
    tutti_status status =
        tutti_send(TUTTI_GROUP_WORLD, &sent, (rank + 1) % size, 5, NULL, &work, error);
    if (status != TUTTI_OK) return status;
    status = tutti_recv(TUTTI_GROUP_WORLD, &received, from, 5, NULL, NULL, NULL, error);
    if (status == TUTTI_OK) check(in[MESSAGE - 1] == (char)(1 + from));
    tutti_error of_send = TUTTI_ERROR_INIT;
    const tutti_status end = tutti_work_wait(work, 0, &of_send);
    tutti_work_release(work);
    if (status != TUTTI_OK || end == TUTTI_OK) return status;
    *error = of_send;
    return end;
}

static tutti_status broadcast(int32_t root, int32_t rank, tutti_error* error) {
    char data[3000];
    memset(data, rank == root ? 7 : 0, sizeof data);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, sizeof data, TUTTI_INT8);
    const tutti_status status =
        tutti_broadcast(TUTTI_GROUP_WORLD, &buffer, root, NULL, NULL, error);
    if (status == TUTTI_OK) check(data[sizeof data - 1] == 7);
    return status;
}

static tutti_status make_some_call(int32_t rank, int32_t size, tutti_error* error) {
    switch (below(6)) {
        case 0:
            return sum(TUTTI_GROUP_WORLD, 1, error);
        case 1:
            return sum(TUTTI_GROUP_WORLD, LARGE, error);
        case 2:
            return sum_in_new_group(error);
        case 3:
            return pass_round(rank, size, error);
        case 4:
            return tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, error);
        default:
            return broadcast(size - 1, rank, error);
    }
}

/* The same dice on all ranks; a victim's clock runs from now on. */
static void choose_victims(int32_t rank, int32_t size, int at_once) {
    int victims = 1 + below(at_once);
    if (victims > size - 1) victims = size - 1;
    for (; victims > 0; --victims) {
        const int victim = below(size);
        const struct itimerval clock = {{0, 0}, {0, 1 + below(LATEST_US)}};
        if (victim == rank) setitimer(ITIMER_REAL, &clock, NULL);
    }
}

/* Until a call fails, or for so many calls. */
static void work(int32_t rank, int32_t size, tutti_error* error) {
    for (int call = 0; call < CALLS; ++call) {
        if (make_some_call(rank, size, error) != TUTTI_OK) return;
    }
}

/* At the end of its work every rank comes here, whatever it has seen. */
static tutti_status go_on(int32_t rank, tutti_error* error) {
    uint64_t flags = 15u | (uint64_t)1 << (8 + rank);
    const tutti_status status = tutti_group_agree(TUTTI_GROUP_WORLD, &flags, 0, error);
    if (status != TUTTI_OK) return status;
    check((flags & 15) == 15);
    return tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, TUTTI_SHRINK_ABORT, NULL, NULL, NULL,
                              error);
}

tutti_status survive(const char* step, tutti_error* error) {
    const uint64_t seed = (uint64_t)number_in(step, "seed", 1);
    const int at_once = (int)number_in(step, "at_once", 1);
    ending = number_in(step, "stop", 0) != 0 ? SIGSTOP : SIGKILL;
    signal(SIGALRM, die);
    for (;;) {
        const int32_t rank = tutti_get_rank(TUTTI_GROUP_WORLD);
        const int32_t size = tutti_get_world_size(TUTTI_GROUP_WORLD);
        const uint64_t own = members();
        dice = seed * 7919 + own;
        if (compare_members(own, error) == TUTTI_OK) {
            if (size == 1) return sum_in_new_group(error);
            choose_victims(rank, size, at_once);
            work(rank, size, error);
        }
        const tutti_status status = go_on(rank, error);
        if (status != TUTTI_OK) return status;
    }
}
