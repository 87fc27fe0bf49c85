#include "survival.h"

#include <signal.h>
#include <sys/time.h>

#include "checked_calls.h"
#include "operations.h"

enum { LATEST_US = 6000, CALLS = 7 };

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
static void work(tutti_error* error) {
    for (int call = 0; call < CALLS; ++call) {
        if (make_checked_call((checked_call)below(CHECKED_CALLS), error) != TUTTI_OK) return;
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
        const uint64_t own = members_number();
        dice = seed * 7919 + own;
        if (compare_members(own, error) == TUTTI_OK) {
            if (size == 1) return make_checked_call(SUM_IN_NEW_GROUP, error);
            choose_victims(rank, size, at_once);
            work(error);
        }
        const tutti_status status = go_on(rank, error);
        if (status != TUTTI_OK) return status;
    }
}
