/* Ranks that live and do not answer: stopped ones, and those that never make the call. */
#include "faults.h"
#include "support/held_port.h"

static void stop_in_a_loop(team* all, int32_t size, int32_t victim) {
    team_start_all(all, size, WATCHFUL, LIST("init", "loop all_reduce", "destroy"));
    for (int32_t index = 0; index < size; ++index) EXPECT_DONE(all, index, "init");
    team_await_progress(all, victim, 20);
    team_stop(all, victim);
    char rank[64];
    snprintf(rank, sizeof rank, "rank %d has not answered for 3000 ms", (int)victim);
    for (int32_t index = 0; index < size; ++index) {
        if (index == victim) continue;
        EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, victim, rank, "all_reduce #",
                    "group \"world\"");
        EXPECT_DONE(all, index, "destroy");
    }
    for (int32_t index = 0; index < size; ++index) {
        if (index != victim) assert_int_equal(team_await_end(all, index), 0);
    }
    /* And it learns that it was dropped, not that the others died. */
    team_signal(all, victim, SIGCONT);
    EXPECT_STEP(all, victim, "all_reduce", TUTTI_ERR_PEER_LOST, victim, rank);
    EXPECT_DONE(all, victim, "destroy");
    team_expect_ends(all, -1);
}

static void a_stopped_rank_is_named_by_all_others_and_learns_that_it_was_dropped(void** state) {
    stop_in_a_loop((team*)*state, 3, 1);
}

static void a_stopped_last_rank_of_four_is_named_by_all_others(void** state) {
    stop_in_a_loop((team*)*state, 4, 3);
}

static void a_stopped_rank_0_is_named_by_all_others_and_learns_that_it_was_dropped(void** state) {
    stop_in_a_loop((team*)*state, 4, 0);
}

/* Rank 0 serves the store and coordinates, and is stopped before it makes the group. */
static void make_groups_without_rank_0(team* all, const char* maker, const char* function) {
    char port[64];
    const held_port held = hold_port();
    snprintf(port, sizeof port, "MASTER_PORT=%d", (int)held.number);
    const char* const variables[] = {"TUTTI_HEARTBEAT_MS=50", "TUTTI_HEARTBEAT_TIMEOUT_MS=3000",
                                     "TORCHELASTIC_USE_AGENT_STORE=False", port, NULL};
    const char* const steps[] = {"init", "pause", maker, "destroy", NULL};
    team_start_all(all, 4, variables, steps);
    for (int32_t index = 0; index < 4; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    team_stop(all, 0);
    for (int32_t index = 1; index < 4; ++index) team_resume(all, index);
    for (int32_t index = 1; index < 4; ++index) {
        EXPECT_STEP(all, index, "group", TUTTI_ERR_PEER_LOST, 0, function, "on group \"world\"",
                    "rank 0 has not answered for 3000 ms");
        EXPECT_DONE(all, index, "destroy");
        assert_int_equal(team_await_end(all, index), 0);
    }
    team_signal(all, 0, SIGKILL);
    (void)team_await_end(all, 0);
    close(held.holder);
}

static void a_stopped_rank_that_serves_the_store_is_named_by_new_group(void** state) {
    make_groups_without_rank_0((team*)*state, "group", "new_group");
}

static void a_stopped_rank_that_serves_the_store_is_named_by_split_group(void** state) {
    make_groups_without_rank_0((team*)*state, "group split=1", "split_group");
}

static void without_a_heartbeat_limit_a_stopped_rank_ends_calls_at_their_timeout(void** state) {
    team* all = (team*)*state;
    all->size = 3;
    const char* const* without = LIST("TUTTI_HEARTBEAT_MS=10", "TUTTI_HEARTBEAT_TIMEOUT_MS=0");
    team_start(all, 0, 0, without, LIST("init", "pause", "call barrier timeout=3000", "destroy"));
    team_start(all, 1, 1, without, LIST("init", "pause", "call barrier", "destroy"));
    team_start(all, 2, 2, without, LIST("init", "pause", "call barrier", "destroy"));
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    team_stop(all, 2);
    team_resume(all, 1);
    team_resume(all, 0);
    EXPECT_STEP(all, 0, "barrier", TUTTI_ERR_TIMEOUT, 2, "timed out waiting for rank 2");
    EXPECT_STEP(all, 1, "barrier", TUTTI_ERR_ABORTED, 2, "rank 0 gave up", "rank 2");
    EXPECT_DONE(all, 0, "destroy");
    EXPECT_DONE(all, 1, "destroy");
    team_signal(all, 2, SIGCONT);
    team_resume(all, 2);
    EXPECT_STEP(all, 2, "barrier", TUTTI_ERR_ABORTED, 2, "rank 0 gave up");
    EXPECT_DONE(all, 2, "destroy");
    team_expect_ends(all, -1);
}

/* Rank 0 answers for rank 1, which hears nothing of it until it leaves. */
static void a_rank_that_leaves_gives_a_stopped_rank_0_its_time(void** state) {
    team* all = (team*)*state;
    all->size = 3;
    team_start(all, 0, 0, WATCHFUL, LIST("init", "pause", "call barrier", "destroy"));
    team_start(all, 1, 1, WATCHFUL,
               LIST("init", "call recv from=2 timeout=3500", "pause", "destroy"));
    team_start(all, 2, 2, WATCHFUL,
               LIST("init", "pause", "call recv from=0 timeout=300", "call barrier", "destroy"));
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "init");
    EXPECT_STEP(all, 1, "recv", TUTTI_ERR_TIMEOUT, 2, "timed out");
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "pause");
    team_stop(all, 0);
    team_resume(all, 1);
    team_resume(all, 2);
    EXPECT_STEP(all, 2, "recv", TUTTI_ERR_TIMEOUT, 0, "timed out");
    team_signal(all, 0, SIGCONT);
    team_resume(all, 0);
    EXPECT_DONE(all, 1, "destroy");
    for (int32_t index = 0; index < 3; index += 2) {
        EXPECT_STEP(all, index, "barrier", TUTTI_ERR_PEER_LOST, 1, "rank 1 left");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

static void wait_for_an_idle_rank(team* all, int32_t size, int32_t impatient) {
    const int32_t idle = size - 1;
    char gave_up[32];
    snprintf(gave_up, sizeof gave_up, "rank %d gave up", (int)impatient);
    all->size = size;
    for (int32_t index = 0; index < idle; ++index) {
        team_start(all, index, index, PATIENT,
                   LIST("init",
                        index == impatient ? "call all_reduce count=100000 timeout=100"
                                           : "call all_reduce count=100000",
                        "destroy"));
    }
    team_start(all, idle, idle, PATIENT,
               LIST("init", "pause", "call all_reduce count=100000", "destroy"));
    for (int32_t index = 0; index < size; ++index) EXPECT_DONE(all, index, "init");
    /* The idle rank, or, over channels, the neighbour whose data would come next: it waits too. */
    const int32_t awaited = EXPECT_STEP_AMONG(
        all, impatient, "all_reduce", AMONG(TUTTI_ERR_TIMEOUT), AMONG(1 - impatient, 2, idle),
        "timed out", "all_reduce #1", "group \"world\"");
    EXPECT_DONE(all, idle, "pause");
    team_resume(all, idle);
    for (int32_t index = 0; index < size; ++index) {
        if (index != impatient) {
            EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_ABORTED, awaited, gave_up);
        }
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

static void a_call_that_times_out_tells_the_others_who_gave_up(void** state) {
    for (int32_t size = 3; size <= 4; ++size) {
        for (int32_t impatient = 0; impatient < 2; ++impatient) {
            wait_for_an_idle_rank((team*)*state, size, impatient);
            assert_int_equal(team_close(state), 0);
            assert_int_equal(team_open(state), 0);
        }
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_stopped_rank_is_named_by_all_others_and_learns_that_it_was_dropped),
        TEAM_TEST(a_stopped_last_rank_of_four_is_named_by_all_others),
        TEAM_TEST(a_stopped_rank_0_is_named_by_all_others_and_learns_that_it_was_dropped),
        TEAM_TEST(a_stopped_rank_that_serves_the_store_is_named_by_new_group),
        TEAM_TEST(a_stopped_rank_that_serves_the_store_is_named_by_split_group),
        TEAM_TEST(without_a_heartbeat_limit_a_stopped_rank_ends_calls_at_their_timeout),
        TEAM_TEST(a_rank_that_leaves_gives_a_stopped_rank_0_its_time),
        TEAM_TEST(a_call_that_times_out_tells_the_others_who_gave_up),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
