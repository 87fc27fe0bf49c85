/* Ranks die at random, one or several at a time, in the midst of collectives, messages, the making
 * of groups, agreement and shrinking, the coordinator among them: the others shrink the group, all
 * to the same members, and go on until one is left.
 *   survival_test WORKER [--rounds N] [--seed S] */
#include <sys/wait.h>
#include <unistd.h>

#include "rounds.h"
#include "support/sanitizers.h"

static int has_ended(const team* all, int32_t index) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    return waitid(P_PID, (id_t)all->ranks[index].pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

static void start(team* all, int32_t size, const char* const* variables, const char* how) {
    char step[96];
    snprintf(step, sizeof step, "survive seed=%d %s", 1 + below(1 << 30), how);
    print_message("%d ranks: %s\n", (int)size, step);
    team_start_all(all, size, variables, LIST("init", step, "destroy"));
    for (int32_t index = 0; index < size; ++index) EXPECT_DONE(all, index, "init");
}

/* A rank that is to die may be the last one. */
static void end_killed(team* all) {
    int survivors = 0;
    for (int32_t index = 0; index < all->size; ++index) {
        const int end = team_await_end(all, index);
        if (WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL) continue;
        ++survivors;
        assert_int_equal(end, 0);
        EXPECT_DONE(all, index, "survive");
        EXPECT_DONE(all, index, "destroy");
    }
    assert_true(survivors <= 1);
}

static void ranks_are_killed_until_one_is_left(void** state) {
    for (int round = 0; round < rounds; ++round) {
        const int32_t size = 2 + below(SANITIZED ? 3 : 6);
        start((team*)*state, size, PATIENT, below(2) == 0 ? "at_once=1" : "at_once=3");
        end_killed((team*)*state);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

/* When one is left, the others wake up: each hears that the rest has gone on without it. */
static void ranks_that_stopped_hear_that_the_others_went_on(void** state) {
    for (int round = 0; round < (rounds + 9) / 10; ++round) {
        team* const all = (team*)*state;
        start(all, 4, WATCHFUL, "at_once=2 stop=1");
        int32_t last = -1;
        while (last < 0) {
            for (int32_t index = 0; index < all->size; ++index) {
                if (has_ended(all, index)) last = index;
            }
            team_look_again(all, "no rank has gone on alone");
        }
        EXPECT_DONE(all, last, "survive");
        EXPECT_DONE(all, last, "destroy");
        for (int32_t index = 0; index < all->size; ++index) {
            if (index == last) continue;
            while (!has_ended(all, index)) {
                kill(all->ranks[index].pid, SIGCONT); /* one may be about to stop */
                team_look_again(all, "a rank that stopped does not end");
            }
            /* Itself, by its rank in the last group that it was in. */
            EXPECT_STEP_AMONG(all, index, "survive", AMONG(TUTTI_ERR_ABORTED), AMONG(0, 1, 2, 3),
                              "go on without this one");
        }
        team_expect_ends(all, -1);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

int main(int argc, char** argv) {
    read_arguments(argc, argv, SANITIZED ? 4 : 10);
    const struct CMUnitTest tests[] = {
        TEAM_TEST(ranks_are_killed_until_one_is_left),
        TEAM_TEST(ranks_that_stopped_hear_that_the_others_went_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
