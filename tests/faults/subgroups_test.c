/* Groups made from a group, whose ranks are processes that die or stop; and thousands of groups.
 *   subgroups_test WORKER [--groups N] */
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "support/sanitizers.h"

static int groups = 150;

static void kill_one(team* all, int32_t victim) {
    team_signal(all, victim, SIGKILL);
    assert_true(WIFSIGNALED(team_await_end(all, victim)));
}

/* Group ranks in the error; the sentence has the global one, too. */
static void a_rank_killed_in_a_call_of_a_subgroup_is_named(void** state) {
    team* all = (team*)*state;
    const char* const members[] = {"init", "group from=1", "loop all_reduce count=1000", "destroy",
                                   NULL};
    const char* const other[] = {"init", "group from=1", "pause", "call barrier", "destroy", NULL};
    all->size = 4;
    for (int32_t index = 0; index < 4; ++index) {
        team_start(all, index, index, PATIENT, index == 0 ? other : members);
    }
    for (int32_t index = 0; index < 4; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "group");
    }
    EXPECT_DONE(all, 0, "pause");
    team_await_progress(all, 3, 20);
    kill_one(all, 3);
    for (int32_t index = 1; index < 3; ++index) {
        EXPECT_STEP(all, index, "all_reduce", TUTTI_ERR_PEER_LOST, 2, "group \"some\"",
                    "rank 3 died", "global rank 3 is rank 2 of this group");
        EXPECT_DONE(all, index, "destroy");
    }
    team_resume(all, 0);
    EXPECT_STEP(all, 0, "barrier", TUTTI_ERR_PEER_LOST, 3, "rank 3 died", "group \"world\"");
    EXPECT_DONE(all, 0, "destroy");
    team_expect_ends(all, 3);
}

/* Deaths outside are none of its business, the first, which the default group fails of, and later
 * ones; its own are, also when nobody watches any more. */
static void a_subgroup_goes_on_without_those_it_is_not_made_of(void** state) {
    team* all = (team*)*state;
    const char* const steps[] = {"init",         "group from=2 to=3", "pause", "call barrier",
                                 "pause",        "call barrier",      "pause", "call barrier",
                                 "loop barrier", "destroy",           NULL};
    team_start_all(all, 4, PATIENT, steps);
    for (int32_t index = 0; index < 4; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "group");
        EXPECT_DONE(all, index, "pause");
    }
    for (int round = 0; round < 3; ++round) {
        for (int32_t index = 2; index < 4; ++index) team_resume(all, index);
        for (int32_t index = 2; index < 4; ++index) {
            EXPECT_DONE(all, index, "barrier");
            if (round < 2) EXPECT_DONE(all, index, "pause");
        }
        if (round == 0) kill_one(all, 1);
        if (round == 1) kill_one(all, 0); /* who watches */
    }
    team_await_progress(all, 3, 5);
    kill_one(all, 2);
    EXPECT_STEP(all, 3, "barrier", TUTTI_ERR_PEER_LOST, 0, "group \"some\"", "rank 2");
    EXPECT_DONE(all, 3, "destroy");
    assert_int_equal(team_await_end(all, 3), 0);
}

static void kill_before_a_group_is_made(team* all, const char* maker) {
    const char* const makers[] = {"init", maker, "destroy", NULL};
    const char* const late[] = {"init", "pause", NULL};
    all->size = 4;
    for (int32_t index = 0; index < 4; ++index) {
        team_start(all, index, index, PATIENT, index == 2 ? late : makers);
    }
    for (int32_t index = 0; index < 4; ++index) EXPECT_DONE(all, index, "init");
    EXPECT_DONE(all, 2, "pause");
    kill_one(all, 2);
    for (int32_t index = 0; index < 4; ++index) {
        if (index == 2) continue;
        EXPECT_STEP(all, index, "group", TUTTI_ERR_PEER_LOST, 2, "new_group on group \"world\"",
                    "rank 2 died");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, 2);
}

static void a_rank_killed_while_a_group_is_made_is_named(void** state) {
    kill_before_a_group_is_made((team*)*state, "group to=1"); /* not even a member */
}

static void a_rank_killed_while_a_group_of_another_backend_is_made_is_named(void** state) {
    kill_before_a_group_is_made((team*)*state, "group from=1 other=1");
}

/* All have agreed to make it, and then a member has no descriptor left for its memory. */
static void a_group_that_cannot_be_opened_is_told_in_ranks_of_its_parent(void** state) {
    team* all = (team*)*state;
    if (getenv("TUTTI_FAULTS_BACKEND") != NULL || TYPES_SANITIZED) {
        print_message(
            "skipped: needs shm as the other backend, and a sanitizer needs descriptors\n");
        skip();
    }
    all->size = 3;
    const char* const makers[] = {"init", "group from=1 other=1", "call barrier", "destroy", NULL};
    const char* const limited[] = {"init",         "limit spare=0", "group from=1 other=1",
                                   "call barrier", "destroy",       NULL};
    for (int32_t index = 0; index < 3; ++index) {
        team_start(all, index, index, PATIENT, index == 2 ? limited : makers);
    }
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "init");
    EXPECT_DONE(all, 2, "limit");
    EXPECT_DONE(all, 0, "group");
    for (int32_t index = 1; index < 3; ++index) {
        EXPECT_STEP(all, index, "group", TUTTI_ERR_OUT_OF_MEMORY, 2, "new_group on group \"world\"",
                    "rank 1: ", "rank 1 of the new group is rank 2 of this one");
    }
    team_signal(all, 0, SIGKILL);
    (void)team_await_end(all, 0);
}

static void a_rank_that_stops_in_a_subgroup_is_named(void** state) {
    team* all = (team*)*state;
    team_start_all(all, 3, LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=3000"),
                   LIST("init", "group from=1", "loop barrier", "destroy"));
    for (int32_t index = 0; index < 3; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "group");
    }
    team_await_progress(all, 2, 3);
    team_stop(all, 2);
    EXPECT_STEP(all, 1, "barrier", TUTTI_ERR_PEER_LOST, 1, "rank 2", "stopped or cut off");
    team_signal(all, 2, SIGKILL);
    (void)team_await_end(all, 2);
    (void)team_next(all, 0);
}

/* A call given up because a rank is stopped costs the group that it was in, and no other. */
static void a_call_given_up_leaves_other_groups_whole(void** state) {
    team* all = (team*)*state;
    all->size = 2;
    team_start(all, 0, 0, PATIENT,
               LIST("init", "group", "pause", "call broadcast root=0 count=5000000 timeout=700",
                    "world", "call all_reduce", "destroy"));
    team_start(all, 1, 1, PATIENT,
               LIST("init", "group", "start broadcast root=0 count=5000000", "pause", "wait",
                    "world", "call all_reduce", "destroy"));
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "group");
    }
    EXPECT_DONE(all, 1, "start");
    EXPECT_DONE(all, 1, "pause");
    EXPECT_DONE(all, 0, "pause");
    team_stop(all, 1);
    team_resume(all, 0);
    EXPECT_STEP(all, 0, "broadcast", TUTTI_ERR_TIMEOUT, 1, "group \"some\"");
    team_signal(all, 1, SIGCONT);
    team_resume(all, 1);
    (void)team_next(all, 1); /* it may have come whole all the same */
    for (int32_t index = 0; index < 2; ++index) {
        EXPECT_DONE(all, index, "world");
        EXPECT_DONE(all, index, "all_reduce");
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
}

static void thousands_of_groups_leave_nothing_behind(void** state) {
    team* all = (team*)*state;
    char step[64];
    snprintf(step, sizeof step, "subgroups count=%d", groups);
    team_start_all(all, 3, PATIENT, LIST("init", step, "destroy"));
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "init");
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "subgroups");
    for (int32_t index = 0; index < 3; ++index) EXPECT_DONE(all, index, "destroy");
    team_expect_ends(all, -1);
}

int main(int count, char** arguments) {
    if (count < 2) return 2;
    worker_program = arguments[1];
    if (count == 4 && strcmp(arguments[2], "--groups") == 0) groups = atoi(arguments[3]);
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_killed_in_a_call_of_a_subgroup_is_named),
        TEAM_TEST(a_subgroup_goes_on_without_those_it_is_not_made_of),
        TEAM_TEST(a_rank_killed_while_a_group_is_made_is_named),
        TEAM_TEST(a_rank_killed_while_a_group_of_another_backend_is_made_is_named),
        TEAM_TEST(a_group_that_cannot_be_opened_is_told_in_ranks_of_its_parent),
        TEAM_TEST(a_rank_that_stops_in_a_subgroup_is_named),
        TEAM_TEST(a_call_given_up_leaves_other_groups_whole),
        TEAM_TEST(thousands_of_groups_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
