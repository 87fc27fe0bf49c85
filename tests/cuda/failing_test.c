/* Does failure end well where data are on devices? Ranks are processes, which die, or whose driver
 * fails. What the double of the driver reports ends a process, which no test takes for its end.
 * TUTTI_FAULTS_BACKEND is the backend.
 *   failing_test WORKER */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults/faults.h"
#include "on_devices.h"
#include "support/seed.h"

enum { RANKS = 3 };

static uint64_t seed;

static int below(int limit) { /* xorshift */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (unsigned)limit);
}

static void kill_in_a_loop(team* all, const char* step) {
    const int32_t victim = below(RANKS);
    const int moment = 1 + below(6);
    char died[32];
    print_message("%s: rank %d, after %d calls\n", step, (int)victim, moment);
    snprintf(died, sizeof died, "rank %d died", (int)victim);
    team_start_all(all, RANKS, PATIENT, LIST("init", step, "destroy"));
    for (int32_t index = 0; index < RANKS; ++index) EXPECT_DONE(all, index, "init");
    team_await_progress(all, victim, moment);
    team_signal(all, victim, SIGKILL);
    for (int32_t index = 0; index < RANKS; ++index) {
        if (index == victim) continue;
        EXPECT_STEP(all, index, "loop", TUTTI_ERR_PEER_LOST, victim, died, "group \"world\"");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, victim);
    assert_true(WIFSIGNALED(team_await_end(all, victim)));
}

static void a_rank_killed_in_sums_is_named_by_all_others(void** state) {
    kill_in_a_loop((team*)*state, "loop all_reduce");
}

static void a_rank_killed_in_messages_is_named_by_its_neighbours(void** state) {
    kill_in_a_loop((team*)*state, "loop ring");
}

static void a_rank_killed_in_allocations_is_named_by_all_others(void** state) {
    kill_in_a_loop((team*)*state, "loop alloc");
}

/* The driver of rank 1 fails so, within a call. */
static void fail_in(team* all, const char* failure, const char* steps, tutti_status wanted,
                    const char* said) {
    char variable[100];
    const char* const step = strstr(steps, "start") != NULL ? "wait" : "call";
    if (!on_the_double()) skip();
    print_message("%s\n", failure);
    snprintf(variable, sizeof variable, "TUTTI_FAKE_CUDA_FAIL=%s", failure);
    all->size = RANKS;
    for (int32_t rank = 0; rank < RANKS; ++rank) {
        const char* const* const own =
            rank == 1 ? LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0", variable) : PATIENT;
        if (strcmp(step, "wait") == 0) {
            team_start(all, rank, rank, own, LIST("init", "start", "wait", "destroy"));
        } else {
            team_start(all, rank, rank, own, LIST("init", steps, "destroy"));
        }
    }
    for (int32_t rank = 0; rank < RANKS; ++rank) {
        EXPECT_DONE(all, rank, "init");
        if (strcmp(step, "wait") == 0) EXPECT_DONE(all, rank, "start");
    }
    for (int32_t rank = 0; rank < RANKS; ++rank) {
        const outcome got = team_next(all, rank);
        print_message("rank %d: %s from %d: %s\n", (int)rank, tutti_status_name(got.status),
                      (int)got.rank, got.message);
        if (strcmp(got.step, step) != 0 || got.status != wanted || got.rank != 1 ||
            strstr(got.message, said) == NULL) {
            team_fail(all, __FILE__, __LINE__, "the failure is not told so");
        }
    }
    for (int32_t rank = 0; rank < RANKS; ++rank) EXPECT_DONE(all, rank, "destroy");
    team_expect_ends(all, -1);
}

#define FAILURE(name, failure, step, wanted, said)           \
    static void name(void** state) {                         \
        fail_in((team*)*state, failure, step, wanted, said); \
    }

FAILURE(a_copy_that_fails_is_told_to_all, "cuMemcpyAsync:2:1", "call all_reduce", TUTTI_ERR_BACKEND,
        "cuMemcpyAsync failed: invalid argument")
FAILURE(a_later_copy_that_fails_is_told_to_all, "cuMemcpyAsync:5:999", "call all_reduce",
        TUTTI_ERR_BACKEND, "cuMemcpyAsync failed: unknown error")
FAILURE(a_lost_device_is_told_to_all, "cuMemcpyAsync:5:700", "call all_reduce", TUTTI_ERR_BACKEND,
        "an illegal memory access was encountered")
FAILURE(a_device_that_is_lost_in_a_work_is_told_to_all, "cuEventQuery:7:700", "start",
        TUTTI_ERR_BACKEND, "an illegal memory access was encountered")
FAILURE(pinned_memory_that_cannot_be_had_is_told_to_all, "cuMemHostAlloc:1:2", "call all_reduce",
        TUTTI_ERR_OUT_OF_MEMORY, "cuMemHostAlloc failed: out of memory")
FAILURE(an_event_that_cannot_be_recorded_is_told_to_all, "cuEventRecord:3:2", "call all_reduce",
        TUTTI_ERR_OUT_OF_MEMORY, "out of memory")

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_killed_in_sums_is_named_by_all_others),
        TEAM_TEST(a_rank_killed_in_messages_is_named_by_its_neighbours),
        TEAM_TEST(a_rank_killed_in_allocations_is_named_by_all_others),
        TEAM_TEST(a_copy_that_fails_is_told_to_all),
        TEAM_TEST(a_later_copy_that_fails_is_told_to_all),
        TEAM_TEST(a_lost_device_is_told_to_all),
        TEAM_TEST(a_device_that_is_lost_in_a_work_is_told_to_all),
        TEAM_TEST(pinned_memory_that_cannot_be_had_is_told_to_all),
        TEAM_TEST(an_event_that_cannot_be_recorded_is_told_to_all),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    seed = test_seed();
    print_message("TUTTI_TEST_SEED=%u\n", (unsigned)seed);
    seed = seed * 2 + 1;
    const int skipped = without_device();
    return skipped != 0 ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
