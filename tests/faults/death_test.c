/* A rank is killed while all are in a loop of calls: every other rank, neighbour or not, ends with
 * an error that names it. The victim and the moment are random.
 *   death_test WORKER [--rounds N] [--seed S] */
#include <sys/wait.h>
#include <unistd.h>

#include "rounds.h"
#include "support/sanitizers.h"

/* `named`: what the message calls the operation. */
static void expect_all_to_name(team* all, int32_t victim, const char* operation,
                               const char* named) {
    char rank[32], number[32];
    snprintf(rank, sizeof rank, "rank %d died", (int)victim);
    snprintf(number, sizeof number, "%s #", named);
    for (int32_t index = 0; index < all->size; ++index) {
        if (index == victim) continue;
        EXPECT_STEP(all, index, operation, TUTTI_ERR_PEER_LOST, victim, rank, number,
                    "group \"world\"");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, victim);
    assert_true(WIFSIGNALED(team_await_end(all, victim)));
}

static void kill_in_a_loop(team* all, int32_t size, const char* operation, const char* step,
                           int latest) {
    const int32_t victim = below(size);
    const int moment = 1 + below(latest);
    print_message("%s: rank %d of %d, after %d calls\n", step, (int)victim, (int)size, moment);
    team_start_all(all, size, PATIENT, LIST("init", step, "destroy"));
    for (int32_t index = 0; index < size; ++index) EXPECT_DONE(all, index, "init");
    team_await_progress(all, victim, moment);
    team_signal(all, victim, SIGKILL);
    /* Its memory may be found in the alloc before it. */
    expect_all_to_name(all, victim, operation, strstr(step, " shared=1") ? "" : operation);
}

static void in_rounds(void** state, const char* operation, const char* step, int latest) {
    for (int round = 0; round < rounds; ++round) {
        for (int32_t size = 3; size <= (SANITIZED ? 3 : 4); ++size) {
            kill_in_a_loop((team*)*state, size, operation, step, latest);
            assert_int_equal(team_close(state), 0);
            assert_int_equal(team_open(state), 0);
        }
    }
}

static void a_rank_killed_in_small_all_reduces_is_named_by_all_others(void** state) {
    in_rounds(state, "all_reduce", "loop all_reduce count=64", 300);
}

static void a_rank_killed_in_large_all_reduces_is_named_by_all_others(void** state) {
    in_rounds(state, "all_reduce", "loop all_reduce count=1000003", 10);
}

static void a_rank_killed_in_barriers_is_named_by_all_others(void** state) {
    in_rounds(state, "barrier", "loop barrier", 300);
}

static void a_rank_killed_in_broadcasts_is_named_by_all_others(void** state) {
    in_rounds(state, "broadcast", "loop broadcast root=1 count=100000", 30);
}

static void a_rank_killed_in_any_collective_is_named_by_all_others(void** state) {
    static const struct {
        const char* operation;
        const char* step; /* after "loop " and the operation */
        int latest;
    } loops[] = {
        {"reduce", " root=1", 300},
        {"reduce", " root=2 count=400003", 20},
        {"all_gather", " more=9 other=1 gives=1", 300},
        {"all_gather", " count=150001", 20},
        {"all_gather_into_tensor", "", 300},
        {"all_gather_into_tensor", " count=300000", 20},
        {"gather", " root=1", 300},
        {"gather", " root=0 count=200000", 20},
        {"scatter", " root=2", 300},
        {"scatter", " root=1 count=200000", 20},
        {"reduce_scatter", " more=7 other=2 gives=1", 300},
        {"reduce_scatter", " count=20011", 50},
        {"reduce_scatter_tensor", "", 300},
        {"reduce_scatter_tensor", " count=300000", 20},
        {"all_to_all", "", 300},
        {"all_to_all", " count=200000", 20},
        {"all_to_all_single", "", 300},
        {"all_to_all_single", " splits=1 count=1000", 100},
        {"monitored_barrier", "", 100},
        {"coalesced", "", 100},
        {"coalesced", " count=100000", 20},
        {"all_reduce", " shared=1 count=300000", 20},
        {"all_gather", " shared=1 count=150001", 20},
    };
    const int all_rounds = rounds;
    rounds = (rounds + 1) / 2;
    for (size_t index = 0; index < sizeof loops / sizeof *loops; ++index) {
        char step[96];
        snprintf(step, sizeof step, "loop %s%s", loops[index].operation, loops[index].step);
        in_rounds(state, loops[index].operation, step, loops[index].latest);
    }
    rounds = all_rounds;
}

/* Ranks that come to the next call before others have left this one are no less innocent. */
static void calls_after_a_death_name_the_rank_that_died(void** state) {
    static const char* const after[] = {"all_reduce", "barrier", "all_gather"};
    for (int round = 0; round < 4 * rounds; ++round) {
        team* all = (team*)*state;
        const int32_t size = 4, victim = below(size);
        char rank[32];
        snprintf(rank, sizeof rank, "rank %d died", (int)victim);
        team_start_all(all, size, PATIENT,
                       LIST("init", "loop all_reduce count=3000", "call all_reduce count=3000",
                            "call barrier", "call all_gather count=9", "destroy"));
        for (int32_t index = 0; index < size; ++index) EXPECT_DONE(all, index, "init");
        team_await_progress(all, victim, 1 + below(20));
        team_signal(all, victim, SIGKILL);
        for (int32_t index = 0; index < size; ++index) {
            if (index == victim) continue;
            EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, victim, rank);
            for (size_t call = 0; call < sizeof after / sizeof *after; ++call) {
                EXPECT_STEP(all, index, after[call], TUTTI_ERR_PEER_LOST, victim, rank);
            }
            EXPECT_DONE(all, index, "destroy");
        }
        team_expect_ends(all, victim);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

/* By group rank, of the default group and of one made from it. */
static void the_ranks_that_died_are_listed(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 4, PATIENT,
                   LIST("init", "failed", "group from=1", "loop barrier", "failed", "world",
                        "call barrier", "failed", "destroy"));
    for (int32_t rank = 0; rank < 4; ++rank) {
        EXPECT_DONE(all, rank, "init");
        EXPECT_STEP(all, rank, "failed", TUTTI_OK, -1, "of");
        EXPECT_DONE(all, rank, "group");
    }
    team_await_progress(all, 2, 20);
    team_signal(all, 2, SIGKILL);
    for (int32_t rank = 1; rank < 4; rank += 2) {
        EXPECT_STEP(all, rank, "barrier", TUTTI_ERR_PEER_LOST, 1, "rank 2 died");
        EXPECT_STEP(all, rank, "failed", TUTTI_OK, -1, "of 1");
        EXPECT_DONE(all, rank, "world");
        EXPECT_STEP(all, rank, "barrier", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        EXPECT_STEP(all, rank, "failed", TUTTI_OK, -1, "of 2");
        EXPECT_DONE(all, rank, "destroy");
    }
    team_expect_ends(all, 2);
}

/* The first that was found is to blame, and the message names all that are known by then. */
static void all_ranks_that_died_are_named(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 5, PATIENT,
                   LIST("init", "failed count=3", "call recv from=2", "call barrier", "destroy"));
    for (int32_t rank = 0; rank < 5; ++rank) EXPECT_DONE(all, rank, "init");
    for (int32_t victim = 1; victim <= 3; ++victim) team_signal(all, victim, SIGKILL);
    for (int32_t rank = 0; rank < 5; rank += 4) {
        EXPECT_STEP(all, rank, "failed", TUTTI_OK, -1, "of 1 2 3");
        EXPECT_STEP_AMONG(all, rank, "recv", AMONG(TUTTI_ERR_PEER_LOST), AMONG(1, 2, 3), "died",
                          "; ranks ", " are lost, too");
        EXPECT_STEP_AMONG(all, rank, "barrier", AMONG(TUTTI_ERR_PEER_LOST), AMONG(1, 2, 3), "died",
                          "; ranks ", " are lost, too");
        EXPECT_DONE(all, rank, "destroy");
    }
    for (int32_t victim = 1; victim <= 3; ++victim)
        assert_true(WIFSIGNALED(team_await_end(all, victim)));
}

/* Either of the two may die, wherever the data are: long ones are on their way for a while. */
static void a_rank_that_dies_amid_a_message_is_named_by_its_peer(void** state) {
    for (int round = 0; round < 2 * rounds; ++round) {
        team* all = (team*)*state;
        const int32_t dead = round % 2;
        all->size = 2;
        team_start(all, 0, 0, PATIENT, LIST("init", "loop send to=1 count=8000000", "destroy"));
        team_start(all, 1, 1, PATIENT, LIST("init", "loop recv from=0 count=8000000", "destroy"));
        for (int32_t index = 0; index < 2; ++index) EXPECT_DONE(all, index, "init");
        team_await_progress(all, 1 - dead, 1 + below(5));
        team_signal(all, dead, SIGKILL);
        EXPECT_STEP(all, 1 - dead, dead == 0 ? "recv" : "send", TUTTI_ERR_PEER_LOST, dead,
                    dead == 0 ? "rank 0 died" : "rank 1 died");
        EXPECT_DONE(all, 1 - dead, "destroy");
        team_expect_ends(all, dead);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

/* The messages of the survivors end for the same reason, not for each other's end. */
static void messages_between_survivors_name_the_rank_that_died(void** state) {
    static const char* const counts[] = {"count=64", "count=300000"};
    for (int round = 0; round < 2 * rounds; ++round) {
        team* all = (team*)*state;
        char send[64], receive[64];
        snprintf(send, sizeof send, "loop send to=1 %s", counts[round % 2]);
        snprintf(receive, sizeof receive, "loop recv from=0 %s", counts[round % 2]);
        all->size = 3;
        team_start(all, 0, 0, PATIENT, LIST("init", send, "destroy"));
        team_start(all, 1, 1, PATIENT, LIST("init", receive, "destroy"));
        team_start(all, 2, 2, PATIENT, LIST("init", "pause"));
        for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "init");
        team_await_progress(all, 1, 1 + below(20));
        team_signal(all, 2, SIGKILL);
        EXPECT_STEP(all, 0, "send", TUTTI_ERR_PEER_LOST, 2, "rank 2 died", "to rank 1");
        EXPECT_STEP(all, 1, "recv", TUTTI_ERR_PEER_LOST, 2, "rank 2 died", "from rank 0");
        EXPECT_DONE(all, 0, "destroy");
        EXPECT_DONE(all, 1, "destroy");
        team_expect_ends(all, 2);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

static void two_ranks_killed_at_once_end_the_calls_of_the_others(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 4, PATIENT, LIST("init", "loop all_reduce", "destroy"));
    for (int32_t index = 0; index < 4; ++index) EXPECT_DONE(all, index, "init");
    team_await_progress(all, 1, 1 + below(100));
    team_signal(all, 1, SIGKILL);
    team_signal(all, 3, SIGKILL);
    for (int32_t index = 0; index < 4; index += 2) {
        const outcome end = team_next(all, index);
        assert_int_equal(end.status, TUTTI_ERR_PEER_LOST);
        assert_true(end.rank == 1 || end.rank == 3);
        EXPECT_DONE(all, index, "destroy");
        assert_int_equal(team_await_end(all, index), 0);
    }
}

/* No rank may blame a survivor that went away because of the failure. */
static void survivors_that_leave_at_once_are_not_blamed(void** state) {
    team* all = (team*)*state;
    all->size = 4;
    team_start(all, 0, 0, PATIENT, LIST("init", "pause", "call barrier", "destroy"));
    team_start(all, 1, 1, PATIENT, LIST("init", "loop barrier", "vanish"));
    team_start(all, 2, 2, PATIENT, LIST("init", "loop barrier", "vanish"));
    team_start(all, 3, 3, PATIENT, LIST("init", "pause"));
    for (int32_t index = 0; index < 4; ++index) EXPECT_DONE(all, index, "init");
    team_signal(all, 3, SIGKILL);
    for (int32_t index = 1; index < 3; ++index) {
        EXPECT_STEP(all, index, "barrier", TUTTI_ERR_PEER_LOST, 3, "rank 3 died");
        assert_int_equal(team_await_end(all, index), 0);
    }
    EXPECT_DONE(all, 0, "pause");
    team_resume(all, 0);
    EXPECT_STEP(all, 0, "barrier", TUTTI_ERR_PEER_LOST, 3, "rank 3 died");
    EXPECT_DONE(all, 0, "destroy");
    team_expect_ends(all, 3);
}

static void works_that_wait_for_a_dead_rank_all_finish(void** state) {
    team* all = (team*)*state;
    all->size = 3;
    for (int32_t index = 0; index < 2; ++index) {
        team_start(
            all, index, index, PATIENT,
            LIST("init", "start recv from=2 tag=1", "start recv from=-1 tag=2",
                 "start recv from=2 tag=3 count=100000", "start send to=2 tag=4",
                 "start all_reduce", "start barrier", "start broadcast root=2", "pause", "wait_any",
                 "wait_all", "wait", "start all_reduce", "call recv from=2", "destroy"));
    }
    team_start(all, 2, 2, PATIENT, LIST("init", "pause"));
    EXPECT_DONE(all, 2, "init");
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_DONE(all, index, "init");
        for (int work = 0; work < 7; ++work) EXPECT_DONE(all, index, "start");
        EXPECT_DONE(all, index, "pause");
    }
    team_signal(all, 2, SIGKILL);
    for (int32_t index = 0; index < 2; ++index) {
        team_resume(all, index);
        EXPECT_STEP(all, index, "wait_any", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        EXPECT_STEP(all, index, "wait_all", TUTTI_ERR_PEER_LOST, 2, "recv", "rank 2 died");
        for (int work = 0; work < 7; ++work) {
            EXPECT_STEP(all, index, "wait", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        }
        EXPECT_STEP(all, index, "start", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        EXPECT_STEP(all, index, "recv", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, 2);
}

static void after_a_failure_calls_are_refused_and_a_new_group_can_be_made(void** state) {
    team* all = (team*)*state;
    all->size = 3;
    for (int32_t index = 0; index < 2; ++index) {
        team_start(all, index, index, PATIENT,
                   LIST("init", "loop all_reduce", "call barrier", "call send to=2",
                        "init prefix=1", "destroy", "init prefix=1", "call all_reduce", "destroy"));
    }
    team_start(all, 2, 2, PATIENT, LIST("init", "loop all_reduce"));
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "init");
    team_await_progress(all, 2, 1 + below(100));
    team_signal(all, 2, SIGKILL);
    assert_true(WIFSIGNALED(team_await_end(all, 2)));
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        EXPECT_STEP(all, index, "barrier", TUTTI_ERR_PEER_LOST, 2, "failed before", "rank 2 died");
        EXPECT_STEP(all, index, "send", TUTTI_ERR_PEER_LOST, 2, "rank 2 died");
        EXPECT_STEP(all, index, "init", TUTTI_ERR_INVALID_ARGUMENT, -1, "exists already");
        EXPECT_DONE(all, index, "destroy");
    }
    team_start(all, 3, 2, PATIENT, LIST("init prefix=1", "call all_reduce", "destroy"));
    for (int32_t index = 0; index <= 3; ++index) {
        if (index == 2) continue;
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "all_reduce");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, 2);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_killed_in_small_all_reduces_is_named_by_all_others),
        TEAM_TEST(a_rank_killed_in_large_all_reduces_is_named_by_all_others),
        TEAM_TEST(a_rank_killed_in_barriers_is_named_by_all_others),
        TEAM_TEST(a_rank_killed_in_broadcasts_is_named_by_all_others),
        TEAM_TEST(a_rank_killed_in_any_collective_is_named_by_all_others),
        TEAM_TEST(calls_after_a_death_name_the_rank_that_died),
        TEAM_TEST(the_ranks_that_died_are_listed),
        TEAM_TEST(all_ranks_that_died_are_named),
        TEAM_TEST(a_rank_that_dies_amid_a_message_is_named_by_its_peer),
        TEAM_TEST(messages_between_survivors_name_the_rank_that_died),
        TEAM_TEST(two_ranks_killed_at_once_end_the_calls_of_the_others),
        TEAM_TEST(survivors_that_leave_at_once_are_not_blamed),
        TEAM_TEST(works_that_wait_for_a_dead_rank_all_finish),
        TEAM_TEST(after_a_failure_calls_are_refused_and_a_new_group_can_be_made),
    };
    read_arguments(argc, argv, SANITIZED ? 1 : 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
