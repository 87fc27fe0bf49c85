/* A rank is killed between two buckets of a reducer: all others end with an error that names it, or
 * go on with the reducer in a smaller group. The victims and the moments are random.
 *   training_test WORKER [--rounds N] [--seed S] */
#include <sys/wait.h>

#include "rounds.h"
#include "support/sanitizers.h"

static void a_rank_killed_between_two_buckets_is_named_by_all_others(void** state) {
    for (int round = 0; round < rounds; ++round) {
        team* all = (team*)*state;
        const int32_t victim = below(4);
        char dies[64], rank[32];
        snprintf(dies, sizeof dies, "train die=%d", 1 + below(40));
        snprintf(rank, sizeof rank, "rank %d died", (int)victim);
        print_message("rank %d of 4: %s\n", (int)victim, dies);
        all->size = 4;
        for (int32_t index = 0; index < 4; ++index) {
            const char* const step = index == victim ? dies : "train";
            team_start(all, index, index, PATIENT, LIST("init", step, "destroy"));
        }
        for (int32_t index = 0; index < 4; ++index) EXPECT_DONE(all, index, "init");
        for (int32_t index = 0; index < 4; ++index) {
            if (index == victim) continue;
            EXPECT_STEP(all, index, "train", TUTTI_ERR_PEER_LOST, victim, rank,
                        "group \"world/reducer\"");
            EXPECT_DONE(all, index, "destroy");
        }
        team_expect_ends(all, victim);
        assert_true(WIFSIGNALED(team_await_end(all, victim)));
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

/* One to all but one of them, at any time. */
static void the_others_go_on_with_the_pass_that_was_cut(void** state) {
    enum { MOST = 5, PASSES = 12 };
    for (int round = 0; round < rounds; ++round) {
        team* all = (team*)*state;
        const int32_t size = 2 + below(MOST - 1);
        int dies[MOST] = {0};
        for (int victims = 1 + below(size - 1); victims > 0; --victims) {
            dies[1 + below(size - 1)] = 1 + below(2 * PASSES); /* some passes may be skipped */
        }
        const int32_t spared = below(size); /* who is rank 0 above */
        all->size = size;
        for (int32_t index = 0; index < size; ++index) {
            char step[64];
            const int after = dies[(index + spared) % size];
            snprintf(step, sizeof step, "train passes=%d die=%d", PASSES, after);
            print_message("rank %d of %d: %s\n", (int)index, (int)size, step);
            team_start(all, index, index, PATIENT, LIST("init", step, "destroy"));
        }
        for (int32_t index = 0; index < size; ++index) EXPECT_DONE(all, index, "init");
        for (int32_t index = 0; index < size; ++index) {
            if (dies[(index + spared) % size] > 0) {
                assert_true(WIFSIGNALED(team_await_end(all, index)));
                continue;
            }
            EXPECT_DONE(all, index, "train");
            EXPECT_DONE(all, index, "destroy");
            assert_int_equal(team_await_end(all, index), 0);
        }
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(a_rank_killed_between_two_buckets_is_named_by_all_others),
        TEAM_TEST(the_others_go_on_with_the_pass_that_was_cut),
    };
    read_arguments(argc, argv, SANITIZED ? 1 : 4);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
