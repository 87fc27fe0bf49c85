/* A rank dies while all have a long row of works that wait for their turn: every work of the others
 * ends for that reason, and no rank that lives is accused of anything.
 *   queued_test WORKER [--rounds N] [--seed S] */
#include <sys/wait.h>

#include "rounds.h"
#include "support/sanitizers.h"

/* Works that ran end with the death, those behind may end with what it did to the group. */
static void expect_to_name(team* all, int32_t index, const outcome* end, int32_t victim) {
    char died[32];
    snprintf(died, sizeof died, "rank %d died", (int)victim);
    const int is_reason = end->status == TUTTI_ERR_PEER_LOST || end->status == TUTTI_ERR_ABORTED;
    if (is_reason && end->rank == victim && strstr(end->message, died) != NULL) return;
    print_error("rank %d, %s: status %d, rank %d: %s\n", (int)index, end->step, (int)end->status,
                (int)end->rank, end->message);
    team_fail(all, __FILE__, __LINE__, "not the death");
}

static void every_work_behind_a_death_names_the_rank_that_died(void** state) {
    for (int round = 0; round < rounds; ++round) {
        team* all = (team*)*state;
        const int32_t victim = below(4);
        char dies[64];
        snprintf(dies, sizeof dies, "queue works=60 die=%d", 10 + below(40));
        print_message("rank %d of 4: %s\n", (int)victim, dies);
        all->size = 4;
        for (int32_t index = 0; index < 4; ++index) {
            if (index == victim) {
                team_start(all, index, index, PATIENT, LIST("init", dies));
            } else {
                team_start(all, index, index, PATIENT, LIST("init", "queue works=60", "destroy"));
            }
        }
        for (int32_t index = 0; index < 4; ++index) EXPECT_DONE(all, index, "init");
        for (int32_t index = 0; index < 4; ++index) {
            if (index == victim) continue;
            int failures = 0;
            outcome end = team_next(all, index);
            for (; strcmp(end.step, "queue") != 0; end = team_next(all, index)) {
                expect_to_name(all, index, &end, victim);
                ++failures;
            }
            assert_true(failures > 0);
        }
        for (int32_t index = 0; index < 4; ++index) {
            if (index != victim) EXPECT_DONE(all, index, "destroy");
        }
        team_expect_ends(all, victim);
        assert_true(WIFSIGNALED(team_await_end(all, victim)));
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(every_work_behind_a_death_names_the_rank_that_died),
    };
    read_arguments(argc, argv, SANITIZED ? 1 : 4);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
