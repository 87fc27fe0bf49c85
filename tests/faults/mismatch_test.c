/* Ranks that call different things: all are told, whether two of them face each other with
 * different calls or each waits for another, and the message shows both sides. */
#include "faults.h"
#include "support/sanitizers.h"

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
        {"call reduce_scatter_tensor count=5", "call reduce_scatter_tensor count=6", "× 5", "× 6"},
        {"call all_gather_into_tensor dtype=3", "call all_gather_into_tensor dtype=5", "uint16",
         "uint32"},
        {"call reduce_scatter", "call reduce_scatter other=1 more=2 gives=1", "layout", "layout"},
        {"call all_to_all_single", "call all_to_all_single splits=1", "float32 × ", "in pieces"},
        {"call coalesced count=5", "call coalesced count=6", "coalesced #1", "layout"},
    };
    for (size_t index = 0; index < sizeof differences / sizeof *differences; ++index) {
        if (SANITIZED) {
            differ(state, 3, (int32_t)index % 3, &differences[index]);
            continue;
        }
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
        {"call reduce root=0", "call reduce root=1", "root 0", "root 1"},
        {"call gather root=0 count=100000", "call scatter root=0 count=100000", "gather #1",
         "scatter #1"},
        {"call all_gather count=100000", "call all_gather_into_tensor count=100000",
         "all_gather #1", "all_gather_into_tensor #1"},
        {"call monitored_barrier", "call barrier", "monitored_barrier #1", "called barrier #1"},
        {"call all_to_all count=50000", "call reduce_scatter count=50000", "all_to_all #1",
         "reduce_scatter #1"},
        /* The odd one waits for ranks that have had theirs, with what the root says unread. */
        {"call scatter root=0", "call all_to_all", "scatter #1", "all_to_all #1"},
    };
    for (size_t index = 0; index < sizeof differences / sizeof *differences; ++index) {
        differ(state, 2, 1, &differences[index]);
        differ(state, 3, 2, &differences[index]);
        if (SANITIZED) continue;
        differ(state, 4, 0, &differences[index]);
        differ(state, 4, 1, &differences[index]);
    }
}

/* The odd one gives rank 0 something else than it expects, or the other way round; both are told in
 * the very call, and what they are told is the same. */
static void disagree(void** state, int32_t odd, const char* common_call, const char* odd_call) {
    team* all = (team*)*state;
    print_message("rank %d: %s, the others: %s\n", (int)odd, odd_call, common_call);
    all->size = 3;
    for (int32_t rank = 0; rank < 3; ++rank) {
        team_start(all, rank, rank, PATIENT,
                   LIST("init", rank == odd ? odd_call : common_call, "destroy"));
    }
    outcome ends[3];
    for (int32_t rank = 0; rank < 3; ++rank) {
        EXPECT_DONE(all, rank, "init");
        ends[rank] = team_next(all, rank); /* the third may have had all it needs */
        EXPECT_DONE(all, rank, "destroy");
    }
    team_expect_ends(all, -1);
    const char* told = strstr(ends[0].message, ": rank ");
    const char* also = strstr(ends[odd].message, ": rank ");
    if (ends[0].status != TUTTI_ERR_MISMATCH || ends[odd].status != TUTTI_ERR_MISMATCH ||
        told == NULL || also == NULL || strstr(told, "where rank") == NULL ||
        strcmp(told, also) != 0) {
        print_error("0: %s\n%d: %s\n", ends[0].message, (int)odd, ends[odd].message);
        team_fail(all, __FILE__, __LINE__, "they are not told of the same mismatch");
    }
    assert_int_equal(team_close(state), 0);
    assert_int_equal(team_open(state), 0);
}

static void sizes_that_two_ranks_disagree_about_are_a_mismatch_on_both(void** state) {
    static const char* const calls[][2] = {
        {"call all_to_all", "call all_to_all other=0 more=1 gives=1"},
        {"call all_to_all", "call all_to_all other=0 more=100000 gives=1"},
        {"call all_to_all", "call all_to_all other=0 more=1 takes=1"},
        {"call all_to_all count=100000", "call all_to_all other=0 more=1 gives=1 count=100000"},
        {"call all_to_all_single splits=1",
         "call all_to_all_single splits=1 other=0 more=100000 takes=1"},
        {"call all_to_all_single splits=1 count=0",
         "call all_to_all_single splits=1 count=0 other=0 more=3 takes=1"},
    };
    for (size_t index = 0; index < sizeof calls / sizeof *calls; ++index) {
        for (int32_t odd = 1; odd < 3; ++odd) {
            disagree(state, odd, calls[index][0], calls[index][1]);
        }
    }
}

/* Rank 0 compares before every call, or another does, and the rest do not: none of their messages
 * meet, and still all are told why. */
static void ranks_that_do_not_all_compare_first_are_a_mismatch_that_says_so(void** state) {
    for (int32_t odd = 0; odd < 3; ++odd) {
        team* all = (team*)*state;
        all->size = 3;
        for (int32_t rank = 0; rank < 3; ++rank) {
            team_start(all, rank, rank,
                       rank == odd
                           ? LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0", "TORCH_DISTRIBUTED_DEBUG=DETAIL")
                           : PATIENT,
                       LIST("init", "call all_reduce count=4", "destroy"));
        }
        /* A mismatch is one of two ranks: the odd one, and another that waits. Who says last that
         * it waits is blamed, by all. */
        char detail[128];
        snprintf(detail, sizeof detail,
                 "rank %d called all_reduce #1 (float32 × 4, SUM) "
                 "under TORCH_DISTRIBUTED_DEBUG=DETAIL",
                 (int)odd);
        int32_t last = -1;
        for (int32_t rank = 0; rank < 3; ++rank) {
            EXPECT_DONE(all, rank, "init");
            last =
                EXPECT_STEP_AMONG(all, rank, "all_reduce", AMONG(TUTTI_ERR_MISMATCH),
                                  rank == 0 ? AMONG(0, 1, 2) : AMONG(last), detail, " while rank ");
            EXPECT_DONE(all, rank, "destroy");
        }
        team_expect_ends(all, -1);
        assert_int_equal(team_close(state), 0);
        assert_int_equal(team_open(state), 0);
    }
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEAM_TEST(calls_that_differ_in_their_arguments_are_a_mismatch_on_all_ranks),
        TEAM_TEST(sizes_that_two_ranks_disagree_about_are_a_mismatch_on_both),
        TEAM_TEST(calls_of_another_shape_are_a_mismatch_on_all_ranks),
        TEAM_TEST(ranks_that_do_not_all_compare_first_are_a_mismatch_that_says_so),
    };
    if (argc < 2) return 2;
    worker_program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
