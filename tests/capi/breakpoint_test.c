/* Breakpoints that nobody stops at: arguments that are refused, and ranks that do not meet. Ranks
 * are threads. The first argument is the backend. tests/launch/breakpoint_test.sh has the stops. */
#include <tutti/debug.h>

#include "on_ranks.h"

/* Until every rank has what it waits for: else a rank that leaves is the news. */
static void stay(rank_context* me) {
    RANK_OK(me, tutti_store_barrier(me->store, "stay", me->size, NULL, &me->error));
}

static void give_wrong_arguments(rank_context* me) {
    const int32_t none[] = {-1, me->size, INT32_MAX, INT32_MIN};
    for (size_t index = 0; index < sizeof none / sizeof *none; ++index) {
        RANK_STATUS(me, tutti_breakpoint(me->group, none[index], NULL, &me->error),
                    TUTTI_ERR_INVALID_ARGUMENT);
        RANK_SAYS(me, "tutti_breakpoint: group_rank is ");
        RANK_SAYS(me, "has the ranks 0 to 1");
    }
    int stream = 0;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = &stream;
    RANK_STATUS(me, tutti_breakpoint(me->group, 0, &options, &me->error),
                TUTTI_ERR_INVALID_ARGUMENT);
    RANK_STATUS(me, tutti_breakpoint(TUTTI_GROUP_NON_MEMBER, 0, NULL, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    RANK_STATUS(me, tutti_breakpoint(TUTTI_GROUP_WORLD, 0, NULL, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
}

static void wrong_arguments_are_refused_and_the_group_goes_on(void** state) {
    (void)state;
    RUN(2, give_wrong_arguments);
}

static void choose_different_ranks(rank_context* me) {
    RANK_STATUS(me, tutti_breakpoint(me->group, me->rank == 2, NULL, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me,
              "rank 2 called breakpoint #1 (root 1) while ranks 0, 1 called "
              "breakpoint #1 (root 0)");
    stay(me);
}

static void ranks_that_choose_different_ones_are_shown(void** state) {
    (void)state;
    RUN(3, choose_different_ranks);
}

static void run_out_of_time(rank_context* me) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = 100;
    if (me->rank == 0) {
        RANK_STATUS(me, tutti_breakpoint(me->group, 0, &options, &me->error), TUTTI_ERR_TIMEOUT);
        RANK_SAYS(me, "rank 1 did not call it in 100 ms");
    }
    stay(me);
}

static void nobody_waits_for_a_debugger_before_all_have_come(void** state) {
    (void)state;
    RUN(2, run_out_of_time);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(wrong_arguments_are_refused_and_the_group_goes_on),
        TEST(ranks_that_choose_different_ones_are_shown),
        TEST(nobody_waits_for_a_debugger_before_all_have_come),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
