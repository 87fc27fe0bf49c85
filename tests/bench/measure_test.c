/* Does the benchmark see a wrong result, and count as its method says? A library of no ranks but
 * the test itself stands in for tutti: it works the results out from what each rank contributes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numbers.h"
#include "tutti_bench.h"

tutti_error failure = TUTTI_ERROR_INIT;

enum { RANKS = 3, FLOATS = 2049, BYTES = FLOATS * 4 };

/* The contribution of each rank, at most RANKS pieces. */
static float given[RANKS][FLOATS * RANKS];
static float result_of_all[FLOATS * RANKS];
static int own_rank, spoilt, calls, barriers, pending;

static cell cell_of(const char* name) {
    cell made = {NULL, BLOCKING, NULL, 0, FLOAT32, 0, 0, NULL, NULL};
    assert_true(find_operation(name, &made));
    set_bytes(&made, BYTES, RANKS);
    return made;
}

/* How many elements a rank gets from whom, worked out apart from contents.c. */
static int64_t work_out(const cell* of) {
    const int64_t count = of->count, piece = of->piece;
    const operation_kind kind = of->op->kind;
    float* const out = result_of_all;
    int64_t got = 0;
    if (kind == ALL_REDUCE || kind == REDUCE || kind == REDUCE_SCATTER) {
        const int64_t first = kind == REDUCE_SCATTER ? own_rank * piece : 0;
        const int64_t wanted = kind == REDUCE_SCATTER ? piece : count;
        if (kind == REDUCE && own_rank != 0) return 0;
        for (; got < wanted; ++got) {
            out[got] = 0;
            for (int rank = 0; rank < RANKS; ++rank) out[got] += given[rank][first + got];
        }
    } else if (kind == ALL_GATHER || (kind == GATHER && own_rank == 0)) {
        for (int rank = 0; rank < RANKS; ++rank)
            for (int64_t i = 0; i < count; ++i) out[got++] = given[rank][i];
    } else if (kind == ALL_TO_ALL) {
        for (int rank = 0; rank < RANKS; ++rank)
            for (int64_t i = 0; i < piece; ++i) out[got++] = given[rank][own_rank * piece + i];
    } else if (kind == SCATTER) {
        for (; got < piece; ++got) out[got] = given[0][own_rank * piece + got];
    } else if ((kind == BROADCAST && own_rank != 0) || (kind == MANY_RECEIVES && own_rank == 1)) {
        for (; got < count; ++got) out[got] = given[0][got];
    } else if (kind == PING_PONG && own_rank < 2) {
        for (; got < count; ++got) out[got] = given[1 - own_rank][got];
    }
    return got;
}

static int call(const cell* of) {
    const int64_t got = work_out(of);
    ++calls;
    memcpy(of->output, result_of_all, (size_t)got * sizeof(float));
    if (spoilt >= 0 && spoilt < got) ((float*)of->output)[spoilt] += 1;
    return 1;
}

/* The results come when they are waited for. */
static const cell* started;

static int start_one(const cell* of) {
    assert_int_equal(pending++, 0);
    started = of;
    return 1;
}

static int finish_one(void) {
    --pending;
    return call(started);
}

static int barrier(void) {
    assert_int_equal(pending, 0);
    ++barriers;
    return 1;
}

static int largest(double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values[i] += (double)(i + 1); /* seconds, all different */
    return 1;
}

static void contribute(const char* name) {
    for (int rank = 0; rank < RANKS; ++rank) {
        cell of = cell_of(name);
        assert_true(set_contents(&of, rank, RANKS));
        memcpy(given[rank], of.input,
               (size_t)(of.piece * RANKS > of.count ? of.piece * RANKS : of.count) * sizeof(float));
    }
}

static int measured(const char* name, int64_t iterations, result* out, char* why) {
    const library with = {own_rank, RANKS,   call,      NULL,       NULL,
                          barrier,  largest, start_one, finish_one, NULL};
    const method how = {iterations, 1};
    cell of = cell_of(name);
    calls = barriers = 0;
    assert_true(set_contents(&of, own_rank, RANKS));
    return measure(&with, &of, &how, out, why);
}

static const char* const names[] = {
    "all_reduce", "broadcast", "many_receives", "reduce",     "reduce_scatter",
    "all_gather", "gather",    "scatter",       "all_to_all", "sendrecv_pingpong"};

static void right_results_pass_on_every_rank(void** state) {
    char why[WHY];
    result got;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        contribute(names[i]);
        for (own_rank = 0; own_rank < RANKS; ++own_rank)
            if (!measured(names[i], 2, &got, why)) fail_msg("%s: %s", names[i], why);
    }
}

static void one_wrong_element_fails_the_cell(void** state) {
    char why[WHY], element[32];
    result got;
    (void)state;
    own_rank = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strcmp(names[i], "gather") == 0 || strcmp(names[i], "reduce") == 0) own_rank = 0;
        contribute(names[i]);
        const int64_t last = cell_of(names[i]).piece - 1; /* every part is so long at least */
        for (spoilt = 0; spoilt <= last; spoilt += (int)last) {
            snprintf(element, sizeof element, "element %d ", spoilt);
            assert_false(measured(names[i], 2, &got, why));
            if (strstr(why, element) == NULL || strstr(why, names[i]) == NULL) fail_msg("%s", why);
        }
        own_rank = 1;
        spoilt = -1;
    }
}

static void sums_of_every_kind_of_data_are_checked(void** state) {
    char why[WHY];
    result got;
    (void)state;
    for (int kind = ORDINARY; kind <= EXTREME; ++kind) {
        use_data(kind);
        contribute("all_reduce");
        spoilt = -1;
        if (!measured("all_reduce", 2, &got, why)) fail_msg("%s: %s", data_kinds[kind], why);
        contribute("all_gather");
        if (!measured("all_gather", 2, &got, why)) fail_msg("%s: %s", data_kinds[kind], why);
    }
    use_data(ORDINARY);
    contribute("reduce_scatter");
    spoilt = 3;
    assert_false(measured("reduce_scatter", 2, &got, why));
    assert_non_null(strstr(why, "element 3 "));
    use_data(WHOLE);
}

static void hostile_data_have_the_exponents_they_should(void** state) {
    int exponent, least = 0, most = 0;
    (void)state;
    use_data(EXTREME);
    for (int64_t i = 0; i < 100000; ++i) {
        (void)frexp(number_of(FLOAT32, 1, i), &exponent);
        least = exponent < least ? exponent : least;
        most = exponent > most ? exponent : most;
    }
    use_data(WHOLE);
    assert_in_range(-least, 140, 149);
    assert_in_range(most, 117, 120);
    assert_false(has_data(SPREAD, 0));
    assert_int_equal(find_data("none"), -1);
}

static void what_a_call_did_not_write_is_seen(void** state) {
    char why[WHY];
    (void)state;
    cell of = cell_of("all_gather");
    assert_true(set_contents(&of, 0, RANKS));
    spoil_output(&of, 0, RANKS);
    assert_false(is_right(&of, 0, RANKS, why));
}

/* The times are 1 s apart, far more than what the calls take. */
static void the_median_and_the_least_are_told(void** state) {
    char why[WHY];
    result got;
    (void)state;
    own_rank = 0;
    contribute("all_reduce");
    assert_true(measured("all_reduce", 6, &got, why));
    assert_int_equal(got.iterations, 6);
    assert_true(got.median_us >= 3.5e6 && got.median_us < 3.6e6);
    assert_true(got.min_us >= 1e6 && got.min_us < 1.1e6);
    contribute("sendrecv_pingpong");
    assert_true(measured("sendrecv_pingpong", 5, &got, why)); /* one way */
    assert_true(got.median_us >= 1.5e6 && got.median_us < 1.6e6);
}

static void before_each_iteration_there_is_a_barrier_and_in_loops_there_is_none(void** state) {
    char why[WHY];
    result got;
    (void)state;
    own_rank = 0;
    contribute("all_reduce");
    assert_true(measured("all_reduce", 40, &got, why));
    assert_int_equal(calls, 1 + 10 + 40);
    assert_int_equal(barriers, 2 + 10 + 40);
    assert_true(measured("all_reduce_loop", 40, &got, why));
    assert_int_equal(calls, 1 + 10 + 40);
    assert_int_equal(barriers, 2 + 10 + 2);
}

static void works_are_waited_for_before_the_next_call(void** state) {
    char why[WHY];
    result got;
    (void)state;
    own_rank = 0;
    contribute("all_gather");
    assert_true(measured("all_gather_async", 40, &got, why));
    assert_int_equal(calls, 1 + 10 + 40);
    assert_int_equal(barriers, 2 + 10 + 40);
    spoilt = 5;
    assert_false(measured("all_gather_async", 40, &got, why));
    assert_non_null(strstr(why, "all_gather_async"));
}

/* A blocking call seems to take 15.5 s, the median of 30, and a round of the computing more than a
 * second: so there are few rounds. */
static void beside_an_overlapped_call_the_ranks_compute(void** state) {
    char why[WHY];
    result got;
    (void)state;
    own_rank = 0;
    contribute("all_reduce");
    assert_true(measured("all_reduce_overlap", 40, &got, why));
    assert_true(got.blocking_us >= 15.5e6 && got.blocking_us < 15.6e6);
    assert_int_equal(calls, 1 + 10 + 30 + 10 + 40);
    assert_true(got.median_us >= 20.5e6 && got.median_us < 20.6e6);
}

static void slow_operations_are_called_as_often_as_the_method_says(void** state) {
    char why[WHY];
    result got;
    (void)state;
    own_rank = 0;
    contribute("all_reduce");
    assert_true(measured("all_reduce", 0, &got, why)); /* a call seems to take a second */
    assert_int_equal(got.iterations, 30);
}

static void small_tensors_have_pieces_of_one_element(void** state) {
    (void)state;
    cell of = cell_of("reduce_scatter");
    set_bytes(&of, 8, 4);
    assert_int_equal(of.count, 2);
    assert_int_equal(of.piece, 1);
    assert_true(set_contents(&of, 3, 4));
    free_contents();
}

static void the_way_is_what_the_backend_says_of_a_call(void** state) {
    char ways[WAY] = "";
    (void)state;
    read_way("shm: 2 ranks of this host have met", ways, sizeof ways);
    assert_string_equal(ways, "");
    read_way("shm: all_reduce of 1048576 bytes goes staged", ways, sizeof ways);
    read_way("shm: all_reduce of 1048576 bytes goes staged", ways, sizeof ways);
    assert_string_equal(ways, "staged");
    read_way("shm: all_gather of 0 bytes goes stage", ways, sizeof ways);
    assert_string_equal(ways, "staged+stage");
    for (char name[] = "a"; *name <= 'z'; ++*name) {
        char line[64];
        snprintf(line, sizeof line, "shm: barrier of 0 bytes goes the way of %s", name);
        read_way(line, ways, sizeof ways);
    }
    assert_true(strlen(ways) < sizeof ways);
}

static int start(void** state) {
    (void)state;
    own_rank = 0;
    spoilt = -1;
    return 0;
}

static int end(void** state) {
    (void)state;
    free_contents();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(right_results_pass_on_every_rank),
        TEST(one_wrong_element_fails_the_cell),
        TEST(sums_of_every_kind_of_data_are_checked),
        TEST(hostile_data_have_the_exponents_they_should),
        TEST(what_a_call_did_not_write_is_seen),
        TEST(the_median_and_the_least_are_told),
        TEST(before_each_iteration_there_is_a_barrier_and_in_loops_there_is_none),
        TEST(works_are_waited_for_before_the_next_call),
        TEST(beside_an_overlapped_call_the_ranks_compute),
        TEST(slow_operations_are_called_as_often_as_the_method_says),
        TEST(the_way_is_what_the_backend_says_of_a_call),
        TEST(small_tensors_have_pieces_of_one_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
