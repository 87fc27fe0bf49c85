/* Does failure end well where NCCL moves the data? Ranks are processes. The double of NCCL says
 * nothing of a rank that died, or tells it as an error, by TUTTI_FAKE_NCCL_DEATH.
 *   nccl_failing_test WORKER */
#include <stdlib.h>
#include <sys/wait.h>

#include "cuda/on_devices.h"
#include "faults/faults.h"

enum { RANKS = 3 };

static void kill_one_that_loops(team* all, const char* loop) {
    const int32_t victim = 1;
    team_start_all(all, RANKS, PATIENT, LIST("init", "share", loop, "destroy"));
    for (int32_t index = 0; index < RANKS; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "share");
    }
    team_await_progress(all, victim, 3);
    team_signal(all, victim, SIGKILL);
    for (int32_t index = 0; index < RANKS; ++index) {
        if (index == victim) continue;
        EXPECT_STEP(all, index, "loop", TUTTI_ERR_PEER_LOST, victim, "rank 1 died",
                    "group \"world\"");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, victim);
    assert_true(WIFSIGNALED(team_await_end(all, victim)));
}

static void a_rank_that_is_killed_is_named_by_all_others(void** state) {
    kill_one_that_loops((team*)*state, "loop all_reduce");
}

static void a_rank_that_is_killed_while_memory_is_shared_is_named(void** state) {
    kill_one_that_loops((team*)*state, "loop alloc");
}

static void a_rank_that_is_stopped_is_named_and_learns_that_it_was_dropped(void** state) {
    team* const all = (team*)*state;
    const int32_t victim = 2;
    team_start_all(all, RANKS, WATCHFUL, LIST("init", "loop all_reduce", "destroy"));
    for (int32_t index = 0; index < RANKS; ++index) EXPECT_DONE(all, index, "init");
    team_await_progress(all, victim, 3);
    team_stop(all, victim);
    for (int32_t index = 0; index < RANKS; ++index) {
        if (index == victim) continue;
        EXPECT_STEP(all, index, "loop", TUTTI_ERR_PEER_LOST, victim,
                    "rank 2 has not answered for 3000 ms", "group \"world\"");
        EXPECT_DONE(all, index, "destroy");
        assert_int_equal(team_await_end(all, index), 0);
    }
    team_signal(all, victim, SIGCONT);
    EXPECT_STEP(all, victim, "loop", TUTTI_ERR_PEER_LOST, victim, "rank 2 has not answered");
    EXPECT_DONE(all, victim, "destroy");
    team_expect_ends(all, -1);
}

static void a_rank_that_never_comes_is_named(void** state) {
    team* const all = (team*)*state;
    all->size = 2;
    team_start(all, 0, 0, PATIENT, LIST("init", "start", "wait", "destroy"));
    team_start(all, 1, 1, PATIENT, LIST("init", "pause"));
    EXPECT_DONE(all, 0, "init");
    EXPECT_DONE(all, 1, "init");
    EXPECT_DONE(all, 0, "start");
    team_signal(all, 1, SIGKILL);
    EXPECT_STEP(all, 0, "wait", TUTTI_ERR_PEER_LOST, 1, "rank 1 died");
    EXPECT_DONE(all, 0, "destroy");
    team_expect_ends(all, 1);
    assert_true(WIFSIGNALED(team_await_end(all, 1)));
}

static void a_rank_that_has_left_is_named(void** state) {
    team* const all = (team*)*state;
    all->size = 2;
    team_start(all, 0, 0, PATIENT, LIST("init", "call all_reduce", "loop all_reduce", "destroy"));
    team_start(all, 1, 1, PATIENT, LIST("init", "call all_reduce", "destroy"));
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "call");
    }
    EXPECT_DONE(all, 1, "destroy");
    EXPECT_STEP(all, 0, "loop", TUTTI_ERR_PEER_LOST, 1, "rank 1 has left the group");
    EXPECT_DONE(all, 0, "destroy");
    team_expect_ends(all, -1);
}

static void a_rank_that_dies_while_all_leave_holds_up_nobody(void** state) {
    team* const all = (team*)*state;
    const int32_t victim = 1;
    all->size = RANKS;
    for (int32_t rank = 0; rank < RANKS; ++rank) {
        const char* const* const variables =
            rank == victim
                ? LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0", "TUTTI_FAKE_NCCL_DIES_IN_FINALIZE=1")
                : PATIENT;
        team_start(all, rank, rank, variables, LIST("init", "call all_reduce", "destroy"));
    }
    for (int32_t index = 0; index < RANKS; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "call");
    }
    for (int32_t index = 0; index < RANKS; ++index) {
        if (index != victim) EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, victim);
    assert_true(WIFSIGNALED(team_await_end(all, victim)));
}

/* One after the other is killed in the midst of its calls, the coordinator first: the rest goes on,
 * on the device and on the CPU, until one is left. */
static void go_on_with_those_that_are_left(team* all, const char* init) {
    team_start_all(all, RANKS, PATIENT,
                   LIST(init, "loop all_reduce", "shrink", "sum", "cpu", "loop all_reduce",
                        "shrink", "sum", "cpu", "destroy"));
    for (int32_t index = 0; index < RANKS; ++index) EXPECT_DONE(all, index, "init");
    for (int32_t victim = 0; victim + 1 < RANKS; ++victim) {
        team_await_progress(all, victim, 3);
        team_signal(all, victim, SIGKILL);
        assert_true(WIFSIGNALED(team_await_end(all, victim)));
        for (int32_t index = victim + 1; index < RANKS; ++index) {
            EXPECT_STEP(all, index, "loop", TUTTI_ERR_PEER_LOST, 0, "died");
            EXPECT_DONE(all, index, "shrink");
            EXPECT_DONE(all, index, "sum");
            EXPECT_DONE(all, index, "cpu");
        }
    }
    EXPECT_DONE(all, RANKS - 1, "destroy");
    assert_int_equal(team_await_end(all, RANKS - 1), 0);
}

static void those_that_are_left_go_on(void** state) {
    go_on_with_those_that_are_left((team*)*state, "init");
}

static void those_that_are_left_go_on_if_the_group_is_bound(void** state) {
    go_on_with_those_that_are_left((team*)*state, "init bound");
}

static void a_group_serves_the_cpu_beside_nccl(void** state) {
    team* const all = (team*)*state;
    team_start_all(all, RANKS, PATIENT, LIST("init", "cpu", "call all_reduce", "cpu", "destroy"));
    for (int32_t index = 0; index < RANKS; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "cpu");
        EXPECT_DONE(all, index, "call");
        EXPECT_DONE(all, index, "cpu");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_that_is_killed_is_named_by_all_others),
        TEAM_TEST(a_rank_that_is_killed_while_memory_is_shared_is_named),
        TEAM_TEST(a_rank_that_is_stopped_is_named_and_learns_that_it_was_dropped),
        TEAM_TEST(a_rank_that_never_comes_is_named),
        TEAM_TEST(a_rank_that_has_left_is_named),
        TEAM_TEST(a_rank_that_dies_while_all_leave_holds_up_nobody),
        TEAM_TEST(those_that_are_left_go_on),
        TEAM_TEST(those_that_are_left_go_on_if_the_group_is_bound),
        TEAM_TEST(a_group_serves_the_cpu_beside_nccl),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
