/* A rank dies, stops or fails at a chosen place inside the library. Needs a build with
 * TUTTI_FAULT_POINTS; skipped without. */
#include <sys/wait.h>

#include "faults.h"

#define SILENCE "TUTTI_HEARTBEAT_TIMEOUT_MS=0"

static void fresh_team(void** state) {
    assert_int_equal(team_close(state), 0);
    assert_int_equal(team_open(state), 0);
}

/* The victim passes the point with this fault, the others have no fault. */
static void start_with_fault(team* all, int32_t size, int32_t victim, const char* fault,
                             const char* limit, const char* const* steps) {
    all->size = size;
    for (int32_t index = 0; index < size; ++index) {
        team_start(all, index, index, LIST(limit, index == victim ? fault : "TUTTI_FAULT="), steps);
    }
}

/* The first failure of a rank must name the victim: it may have got through the making of the group
 * before. */
static void expect_named(team* all, int32_t index, int32_t victim, const char* fragment) {
    char rank[32];
    snprintf(rank, sizeof rank, "rank %d", (int)victim);
    outcome end = team_next(all, index);
    if (end.status == TUTTI_OK) end = team_next(all, index);
    if (end.status != TUTTI_OK && end.rank == victim && strstr(end.message, rank) != NULL &&
        strstr(end.message, fragment) != NULL) {
        return;
    }
    print_error("process %d: %s, blaming %d: %s\n", (int)index, tutti_status_name(end.status),
                (int)end.rank, end.message);
    team_fail(all, __FILE__, __LINE__, "it does not name the victim");
}

static void die_in_a_loop(void** state, int32_t size, int32_t victim, const char* fault,
                          const char* loop) {
    team* all = (team*)*state;
    print_message("%s: rank %d of %d, %s\n", loop, (int)victim, (int)size, fault);
    start_with_fault(all, size, victim, fault, SILENCE, LIST("init", loop, "destroy"));
    for (int32_t index = 0; index < size; ++index) {
        if (index != victim) expect_named(all, index, victim, "died");
    }
    for (int32_t index = 0; index < size; ++index) {
        if (index != victim) assert_int_equal(team_await_end(all, index), 0);
    }
    assert_int_not_equal(team_await_end(all, victim), 0);
    fresh_team(state);
}

static void a_rank_that_dies_as_a_group_is_made_is_named(void** state) {
    static const char* const faults[] = {"TUTTI_FAULT=agreement.wait@1=kill",
                                         "TUTTI_FAULT=agreement.wait@2=exit"};
    for (int fault = 0; fault < 2; ++fault) {
        for (int32_t victim = 0; victim < 3; ++victim) {
            team* all = (team*)*state;
            print_message("rank %d, %s\n", (int)victim, faults[fault]);
            start_with_fault(all, 3, victim, faults[fault], SILENCE,
                             LIST("init", "group", "group", "loop barrier", "destroy"));
            for (int32_t index = 0; index < 3; ++index) {
                if (index == victim) continue;
                EXPECT_DONE(all, index, "init");
                if (fault > 0) EXPECT_DONE(all, index, "group");
                /* It had brought its arguments: who learnt that it had may have the group. */
                expect_named(all, index, victim, "died");
            }
            for (int32_t index = 0; index < 3; ++index) {
                if (index != victim) assert_int_equal(team_await_end(all, index), 0);
            }
            assert_int_not_equal(team_await_end(all, victim), 0);
            fresh_team(state);
        }
    }
}

static void a_rank_that_dies_between_segments_of_a_ring_is_named(void** state) {
    static const char* const faults[] = {"TUTTI_FAULT=ring.segment@1=kill",
                                         "TUTTI_FAULT=ring.segment@4=kill",
                                         "TUTTI_FAULT=ring.segment@3=exit"};
    for (int fault = 0; fault < 3; ++fault) {
        for (int32_t victim = 0; victim < 4; ++victim) {
            die_in_a_loop(state, 4, victim, faults[fault], "loop all_reduce count=1000003");
        }
    }
}

static void a_rank_that_dies_in_its_first_messages_is_named(void** state) {
    static const char* const faults[] = {"TUTTI_FAULT=exchange.wait@1=kill",
                                         "TUTTI_FAULT=exchange.wait@2=exit"};
    static const char* const loops[] = {"loop all_reduce", "loop barrier", "loop broadcast root=2"};
    for (int fault = 0; fault < 2; ++fault) {
        for (int loop = 0; loop < 3; ++loop) {
            for (int32_t victim = 0; victim < 3; ++victim) {
                die_in_a_loop(state, 3, victim, faults[fault], loops[loop]);
            }
        }
    }
}

static void a_rank_that_dies_in_any_collective_is_named(void** state) {
    static const char* const loops[] = {"loop reduce root=1",
                                        "loop reduce count=400000",
                                        "loop all_gather",
                                        "loop all_gather_into_tensor count=200000",
                                        "loop gather root=2",
                                        "loop scatter root=1",
                                        "loop reduce_scatter more=5 other=1 gives=1",
                                        "loop reduce_scatter count=20000",
                                        "loop reduce_scatter_tensor count=400000",
                                        "loop all_to_all count=3",
                                        "loop all_to_all_single count=50000",
                                        "loop coalesced"};
    for (size_t loop = 0; loop < sizeof loops / sizeof *loops; ++loop) {
        for (int wait = 1; wait <= 3; ++wait) {
            char fault[64];
            snprintf(fault, sizeof fault, "TUTTI_FAULT=exchange.wait@%d=kill", wait);
            die_in_a_loop(state, 3, (int32_t)(loop + (size_t)wait) % 3, fault, loops[loop]);
        }
    }
}

/* It needs no data connection. */
static void a_rank_that_dies_in_a_monitored_barrier_is_named(void** state) {
    for (int wait = 1; wait <= 3; ++wait) {
        char fault[64]; /* making the group takes one such wait */
        snprintf(fault, sizeof fault, "TUTTI_FAULT=membership.wait@%d=kill", 1 + wait);
        die_in_a_loop(state, 3, wait % 3, fault, "loop monitored_barrier");
    }
}

static void a_rank_that_fails_in_a_call_is_named_by_all_others(void** state) {
    for (int32_t victim = 0; victim < 3; ++victim) {
        team* all = (team*)*state;
        char gave_up[64];
        snprintf(gave_up, sizeof gave_up, "rank %d gave up", (int)victim);
        start_with_fault(all, 3, victim, "TUTTI_FAULT=exchange.wait@2=throw", SILENCE,
                         LIST("init", "loop all_reduce", "destroy"));
        for (int32_t index = 0; index < 3; ++index) {
            EXPECT_DONE(all, index, "init");
            if (index == victim) {
                EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_BACKEND, -1, "exchange.wait");
            } else {
                EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_BACKEND, victim, gave_up,
                            "exchange.wait");
            }
            EXPECT_DONE(all, index, "destroy");
        }
        team_expect_ends(all, -1);
        fresh_team(state);
    }
}

/* The victim calls the others before they call it: it alone has begun. */
static void begin_alone(team* all, int32_t victim, const char* fault, const char* limit) {
    start_with_fault(all, 3, victim, fault, limit,
                     LIST("init", "pause", "call all_reduce", "destroy"));
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    team_resume(all, victim);
}

static void a_rank_that_dies_as_it_connects_is_named(void** state) {
    static const char* const faults[] = {"TUTTI_FAULT=transport.connect@1=kill",
                                         "TUTTI_FAULT=transport.connect@1=exit"};
    for (int32_t victim = 0; victim < 3; ++victim) {
        team* all = (team*)*state;
        begin_alone(all, victim, faults[victim % 2], SILENCE);
        assert_int_not_equal(team_await_end(all, victim), 0);
        for (int32_t index = 0; index < 3; ++index) {
            if (index == victim) continue;
            team_resume(all, index);
            EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, victim, "died");
            EXPECT_DONE(all, index, "destroy");
            assert_int_equal(team_await_end(all, index), 0);
        }
        fresh_team(state);
    }
}

static void a_rank_that_stops_as_it_connects_is_named(void** state) {
    for (int32_t victim = 0; victim < 3; ++victim) {
        team* all = (team*)*state;
        begin_alone(all, victim, "TUTTI_FAULT=transport.connect@1=stop",
                    "TUTTI_HEARTBEAT_TIMEOUT_MS=3000");
        team_await_stop(all, victim);
        for (int32_t index = 0; index < 3; ++index) {
            if (index == victim) continue;
            team_resume(all, index);
            EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, victim,
                        "has not answered for 3000 ms");
            EXPECT_DONE(all, index, "destroy");
        }
        team_signal(all, victim, SIGCONT);
        EXPECT_STEP(all, victim, "all_reduce", TUTTI_ERR_PEER_LOST, victim,
                    "has not answered for 3000 ms");
        EXPECT_DONE(all, victim, "destroy");
        team_expect_ends(all, -1);
        fresh_team(state);
    }
}

#define CONNECTING "fault point transport.connect"

static void a_rank_that_cannot_connect_tells_all_others(void** state) {
    for (int32_t victim = 0; victim < 3; ++victim) {
        team* all = (team*)*state;
        const int32_t unreached = victim == 0 ? 1 : 0; /* the first peer of the call */
        char cause[64];
        snprintf(cause, sizeof cause, "rank %d cannot connect to rank %d", (int)victim,
                 (int)unreached);
        begin_alone(all, victim, "TUTTI_FAULT=transport.connect@1=throw", SILENCE);
        EXPECT_STEP(all, victim, "all_reduce", TUTTI_ERR_BACKEND, unreached, cause, CONNECTING);
        EXPECT_DONE(all, victim, "destroy");
        for (int32_t index = 0; index < 3; ++index) {
            if (index == victim) continue;
            team_resume(all, index);
            EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_BACKEND, unreached, cause, CONNECTING);
            EXPECT_DONE(all, index, "destroy");
        }
        team_expect_ends(all, -1);
        fresh_team(state);
    }
}

/* When rank 2 reads why the group failed, the others have left, rank 0 with the coordinator. */
static void a_rank_that_is_told_late_hears_why_though_all_others_have_left(void** state) {
    enum { ODD = 0, LATE = 2, RANKS = 4 };
    team* all = (team*)*state;
    all->size = RANKS;
    for (int32_t index = 0; index < RANKS; ++index) {
        team_start(
            all, index, index,
            LIST(SILENCE, index == LATE ? "TUTTI_FAULT=control.verdict@1=stop" : "TUTTI_FAULT="),
            LIST("init", "pause",
                 index == ODD ? "call all_gather_into_tensor count=100000"
                              : "call all_gather count=100000",
                 "destroy"));
    }
    for (int32_t index = 0; index < RANKS; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    for (int32_t index = 0; index < RANKS; ++index) team_resume(all, index);
    for (int32_t turn = 0; turn < RANKS; ++turn) {
        const int32_t index = turn < LATE ? turn : turn < RANKS - 1 ? turn + 1 : LATE;
        if (index == LATE) {
            team_await_stop(all, LATE);
            team_signal(all, LATE, SIGCONT);
        }
        /* A mismatch is one of two ranks, and the first that is shown is blamed: rank ODD by its
         * successor, its predecessor by rank ODD. */
        EXPECT_STEP_AMONG(all, index, index == ODD ? "all_gather_into_tensor" : "all_gather",
                          AMONG(TUTTI_ERR_MISMATCH), AMONG(ODD, RANKS - 1), "all_gather #1",
                          "all_gather_into_tensor #1");
        EXPECT_DONE(all, index, "destroy");
        assert_int_equal(team_await_end(all, index), 0);
    }
}

static const char* const making_points[] = {"control.hello", "membership.wait"};
enum { MAKING_POINTS = sizeof making_points / sizeof *making_points };

/* Rank `other` has said hello to rank 0 when this returns; `victim` has not come. */
static void two_of_three_have_come(team* all, int32_t other, const char* limit) {
    all->size = 3;
    team_start(all, 0, 0, LIST(limit), LIST("init", "loop barrier"));
    team_start(all, other, other, LIST(limit, "TUTTI_FAULT=control.hello@1=stop"),
               LIST("init", "loop barrier"));
    team_await_stop(all, other);
    team_signal(all, other, SIGCONT);
}

static void a_rank_that_dies_while_the_group_is_made_is_named(void** state) {
    for (int point = 0; point < MAKING_POINTS; ++point) {
        for (int32_t victim = 1; victim < 3; ++victim) {
            team* all = (team*)*state;
            const int32_t other = 3 - victim;
            char fault[64];
            snprintf(fault, sizeof fault, "TUTTI_FAULT=%s@1=kill", making_points[point]);
            two_of_three_have_come(all, other, SILENCE);
            team_start(all, victim, victim, LIST(SILENCE, fault), LIST("init"));
            expect_named(all, 0, victim, "");
            expect_named(all, other, victim, "");
            team_expect_ends(all, victim);
            assert_true(WIFSIGNALED(team_await_end(all, victim)));
            fresh_team(state);
        }
    }
}

static void a_rank_0_that_dies_while_the_group_is_made_is_named(void** state) {
    for (int point = 0; point < MAKING_POINTS; ++point) {
        team* all = (team*)*state;
        char fault[64];
        snprintf(fault, sizeof fault, "TUTTI_FAULT=%s@1=kill", making_points[point]);
        start_with_fault(all, 3, 0, fault, SILENCE, LIST("init timeout=3000", "loop barrier"));
        for (int32_t index = 1; index < 3; ++index) expect_named(all, index, 0, "");
        team_expect_ends(all, 0);
        fresh_team(state);
    }
}

static void a_rank_that_fails_while_the_group_is_made_is_named(void** state) {
    for (int point = 0; point < MAKING_POINTS; ++point) {
        team* all = (team*)*state;
        char fault[64];
        snprintf(fault, sizeof fault, "TUTTI_FAULT=%s@1=throw", making_points[point]);
        two_of_three_have_come(all, 1, SILENCE);
        team_start(all, 2, 2, LIST(SILENCE, fault), LIST("init"));
        EXPECT_STEP(all, 2, "init", TUTTI_ERR_BACKEND, -1, making_points[point]);
        expect_named(all, 0, 2, "rank 2 gave up: fault point");
        expect_named(all, 1, 2, "rank 2 gave up: fault point");
        team_expect_ends(all, -1);
        fresh_team(state);
    }
}

static void a_rank_that_stops_while_the_group_is_made_is_named_and_told(void** state) {
    for (int point = 0; point < MAKING_POINTS; ++point) {
        team* all = (team*)*state;
        const char* limit = "TUTTI_HEARTBEAT_TIMEOUT_MS=3000";
        char fault[64];
        snprintf(fault, sizeof fault, "TUTTI_FAULT=%s@1=stop", making_points[point]);
        start_with_fault(all, 3, 2, fault, limit, LIST("init", "loop barrier"));
        team_await_stop(all, 2);
        expect_named(all, 0, 2, "rank 2 has not answered for 3000 ms");
        expect_named(all, 1, 2, "rank 2 has not answered for 3000 ms");
        assert_int_equal(team_await_end(all, 0), 0);
        assert_int_equal(team_await_end(all, 1), 0);
        team_signal(all, 2, SIGCONT);
        expect_named(all, 2, 2, "rank 2 has not answered for 3000 ms");
        team_expect_ends(all, -1);
        fresh_team(state);
    }
}

static void start_shrinking(team* all, int32_t victim, const char* fault,
                            const char* const* steps) {
    print_message("rank %d, %s\n", (int)victim, fault);
    start_with_fault(all, 3, victim, fault, SILENCE, steps);
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    for (int32_t index = 0; index < 3; ++index) team_resume(all, index);
}

/* All hear of it, and shrink once more. */
static void a_rank_that_fails_in_a_shrink_is_named_and_all_may_try_again(void** state) {
    static const char* const points[] = {"shrink.make", "shrink.open"};
    for (int point = 0; point < 2; ++point) {
        for (int32_t victim = 0; victim < 3; ++victim) {
            team* all = (team*)*state;
            char fault[64], named[64], cause[64];
            snprintf(fault, sizeof fault, "TUTTI_FAULT=%s@1=throw", points[point]);
            snprintf(cause, sizeof cause, "fault point %s", points[point]);
            snprintf(named, sizeof named, "rank %d could not open the new group", (int)victim);
            start_shrinking(
                all, victim, fault,
                LIST("init", "pause", "shrink", "shrink", "call all_reduce", "destroy"));
            for (int32_t index = 0; index < 3; ++index) {
                if (index == victim) {
                    EXPECT_STEP_AMONG(all, index, "shrink", AMONG(TUTTI_ERR_BACKEND),
                                      AMONG(-1, victim), cause);
                } else {
                    EXPECT_STEP(all, index, "shrink", TUTTI_ERR_BACKEND, victim, named, cause);
                }
                EXPECT_DONE(all, index, "shrink");
                EXPECT_DONE(all, index, "all_reduce");
                EXPECT_DONE(all, index, "destroy");
            }
            team_expect_ends(all, -1);
            fresh_team(state);
        }
    }
}

static void a_rank_that_dies_in_a_shrink_is_left_out(void** state) {
    static const char* const faults[] = {
        "TUTTI_FAULT=decision.wait@1=kill", "TUTTI_FAULT=shrink.make@1=kill",
        "TUTTI_FAULT=shrink.open@1=exit", "TUTTI_FAULT=shrink.commit@1=kill"};
    for (size_t fault = 0; fault < sizeof faults / sizeof *faults; ++fault) {
        for (int32_t victim = 0; victim < 3; ++victim) {
            team* all = (team*)*state;
            start_shrinking(all, victim, faults[fault],
                            LIST("init", "pause", "shrink", "call all_reduce", "destroy"));
            for (int32_t index = 0; index < 3; ++index) {
                if (index == victim) continue;
                EXPECT_DONE(all, index, "shrink");
                EXPECT_DONE(all, index, "all_reduce");
                EXPECT_DONE(all, index, "destroy");
            }
            team_expect_ends(all, victim);
            assert_int_not_equal(team_await_end(all, victim), 0);
            fresh_team(state);
        }
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_that_dies_as_a_group_is_made_is_named),
        TEAM_TEST(a_rank_that_dies_between_segments_of_a_ring_is_named),
        TEAM_TEST(a_rank_that_dies_in_its_first_messages_is_named),
        TEAM_TEST(a_rank_that_dies_in_any_collective_is_named),
        TEAM_TEST(a_rank_that_dies_in_a_monitored_barrier_is_named),
        TEAM_TEST(a_rank_that_fails_in_a_call_is_named_by_all_others),
        TEAM_TEST(a_rank_that_dies_as_it_connects_is_named),
        TEAM_TEST(a_rank_that_stops_as_it_connects_is_named),
        TEAM_TEST(a_rank_that_cannot_connect_tells_all_others),
        TEAM_TEST(a_rank_that_is_told_late_hears_why_though_all_others_have_left),
        TEAM_TEST(a_rank_that_dies_while_the_group_is_made_is_named),
        TEAM_TEST(a_rank_0_that_dies_while_the_group_is_made_is_named),
        TEAM_TEST(a_rank_that_fails_while_the_group_is_made_is_named),
        TEAM_TEST(a_rank_that_stops_while_the_group_is_made_is_named_and_told),
        TEAM_TEST(a_rank_that_fails_in_a_shrink_is_named_and_all_may_try_again),
        TEAM_TEST(a_rank_that_dies_in_a_shrink_is_left_out),
    };
    if (argc < 2) return 2;
    if (!HAVE_FAULT_POINTS) {
        print_message("skipped: this build has no fault points\n");
        return 77;
    }
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
