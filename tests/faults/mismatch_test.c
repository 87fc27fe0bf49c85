/* Ranks that call different things: all are told, whether two of them face each other with
 * different calls or each waits for another, and the message shows both sides. */
#include "faults.h"

typedef struct difference {
    const char* common;
    const char* odd;
    const char* common_text;
    const char* odd_text;
} difference;

/* Some may be done before anybody can know; the barrier that follows tells them. */
static outcome first_failure(team* all, int32_t index) {
    const outcome first = team_next(all, index), second = team_next(all, index);
    return first.status != TUTTI_OK ? first : second;
}

static void expect_both_sides(team* all, int32_t index, const difference* one) {
    const outcome told = first_failure(all, index);
    if (told.status == TUTTI_ERR_MISMATCH && strstr(told.message, one->common_text) != NULL &&
        strstr(told.message, one->odd_text) != NULL &&
        strstr(told.message, "group \"world\"") != NULL) {
        return;
    }
    print_error("process %d: %s: %s\n", (int)index, tutti_status_name(told.status), told.message);
    team_fail(all, __FILE__, __LINE__, "it does not show both sides of a mismatch");
}

static void differ(void** state, int32_t size, int32_t odd, const difference* one) {
    team* all = (team*)*state;
    print_message("rank %d of %d: %s, the others: %s\n", (int)odd, (int)size, one->odd,
                  one->common);
    all->size = size;
    for (int32_t index = 0; index < size; ++index) {
        team_start(all, index, index, PATIENT,
                   LIST("init", "pause", index == odd ? one->odd : one->common, "call barrier",
                        "destroy"));
    }
    for (int32_t index = 0; index < size; ++index) {
        EXPECT_DONE(all, index, "init");
        EXPECT_DONE(all, index, "pause");
    }
    for (int32_t index = 0; index < size; ++index) team_resume(all, index);
    for (int32_t index = 0; index < size; ++index) {
        expect_both_sides(all, index, one);
        EXPECT_DONE(all, index, "destroy");
    }
    team_expect_ends(all, -1);
    assert_int_equal(team_close(state), 0);
    assert_int_equal(team_open(state), 0);
}

static void calls_that_differ_in_their_arguments_are_a_mismatch_on_all_ranks(void** state) {
    static const difference differences[] = {
        {"call all_reduce count=16", "call all_reduce count=17", "× 16", "× 17"},
        {"call all_reduce count=100000", "call all_reduce count=99999", "× 100000", "× 99999"},
        {"call all_reduce dtype=10", "call all_reduce dtype=4", "float32", "int32"},
        {"call all_reduce op=3", "call all_reduce op=4", "MIN", "MAX"},
        {"call broadcast root=1 count=5", "call broadcast root=1 count=6", "× 5", "× 6"},
    };
    for (size_t index = 0; index < sizeof differences / sizeof *differences; ++index) {
        for (int32_t odd = 0; odd < 3; ++odd) differ(state, 3, odd, &differences[index]);
        for (int32_t odd = 0; odd < 4; ++odd) differ(state, 4, odd, &differences[index]);
    }
}

/* In some of these no message meets one of another call. */
static void calls_of_another_shape_are_a_mismatch_on_all_ranks(void** state) {
    static const difference differences[] = {
        {"call all_reduce", "call broadcast root=1", "all_reduce #1", "broadcast #1"},
        {"call all_reduce", "call barrier", "all_reduce #1", "barrier #1"},
        {"call broadcast root=0", "call broadcast root=1", "root 0", "root 1"},
        {"call all_reduce count=100000", "call all_reduce count=3", "× 100000", "× 3"},
    };
    for (size_t index = 0; index < sizeof differences / sizeof *differences; ++index) {
        differ(state, 2, 1, &differences[index]);
        differ(state, 3, 2, &differences[index]);
        differ(state, 4, 0, &differences[index]);
        differ(state, 4, 1, &differences[index]);
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(calls_that_differ_in_their_arguments_are_a_mismatch_on_all_ranks),
        TEAM_TEST(calls_of_another_shape_are_a_mismatch_on_all_ranks),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
