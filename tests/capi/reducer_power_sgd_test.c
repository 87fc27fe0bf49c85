/* Do gradients that travel as products of two factors (PowerSGD) come to the same as the gradients
 * themselves, in one pass or in the end? The program's argument names the backend. */
#include "model.h"

static const tutti_dtype floats[] = {TUTTI_FLOAT32};
static const tutti_dtype mixed[] = {TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_FLOAT16};
/* The rows of the parameters of model_of(); 0 has no matrix. */
static const int64_t rows[] = {20, 0, 0, 50, 0, 1, 30, 8, 0, 0};

/* From the second pass on. */
static tutti_power_sgd_options from_second_pass(int64_t rank) {
    tutti_power_sgd_options options = TUTTI_POWER_SGD_OPTIONS_INIT;
    options.matrix_approximation_rank = rank;
    options.start_iteration = 1;
    return options;
}

static tutti_status set(const model* of, const tutti_power_sgd_options* options) {
    return tutti_reducer_set_power_sgd(of->reducer, rows, of->count, options, &of->me->error);
}

/* A number that is no pattern, so that matrices have full rank. */
static double drawn(int64_t rank, int64_t pass, int64_t parameter, int64_t at) {
    const uint64_t bits =
        draw_at(7 + (uint64_t)parameter, (uint64_t)rank, (uint64_t)pass, (uint64_t)at);
    return (double)(bits % 2001) / 1000 - 1;
}

static double mean_of(const model* of, int64_t pass, int64_t parameter, int64_t at) {
    double sum = 0;
    for (int64_t rank = 0; rank < of->me->size; ++rank) sum += drawn(rank, pass, parameter, at);
    return sum / of->me->size;
}

static void put_drawn(const model* of, int64_t parameter, int64_t pass) {
    const tutti_buffer place = gradient_of(of, parameter, 0);
    for (int64_t at = 0; at < place.count; ++at) {
        put_element(place.dtype, place.data, at,
                    real_number(drawn(of->me->rank, pass, parameter, at)));
    }
}

static void run_pass(const model* of, int64_t pass) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_begin(of->reducer, 1, &me->error));
    for (int64_t i = of->count - 1; i >= 0; --i) {
        put_drawn(of, i, pass);
        RANK_OK(me, tutti_reducer_mark_ready(of->reducer, i, NULL, &me->error));
    }
    RANK_OK(me, tutti_reducer_finish(of->reducer, NULL, &me->error));
}

/* The greatest difference from the means times a factor, of all parameters. */
static double distance(const model* of, int64_t pass, double factor) {
    double most = 0;
    for (int64_t i = 0; i < of->count; ++i) {
        const tutti_buffer place = gradient_of(of, i, 0);
        for (int64_t at = 0; at < place.count; ++at) {
            const double got = get_element(place.dtype, place.data, at).real;
            const double off = fabs(got - factor * mean_of(of, pass, i, at));
            most = off > most || isnan(off) ? off : most;
        }
    }
    return most;
}

static int64_t logged(const model* of, const char* key) {
    tutti_object* object = NULL;
    int64_t node = 0, value = -1;
    if (tutti_reducer_logging_data(of->reducer, &object, &of->me->error) != TUTTI_OK) return -1;
    if (tutti_object_find(object, 0, key, &node, &of->me->error) == TUTTI_OK) {
        tutti_object_get_int64(object, node, &value, &of->me->error);
    }
    tutti_object_release(object);
    return value;
}

static void factors_of_full_rank_are_exact(rank_context* me) {
    for (uint32_t sum = 0; sum < 2; ++sum) {
        model of = model_of(me, mixed, 3);
        tutti_reducer_options buckets = small_buckets();
        tutti_power_sgd_options options = from_second_pass(1000);
        buckets.sum = sum;
        options.min_compression_rate = 0.001;
        RANK_OK(me, model_create(&of, me->group, &buckets));
        RANK_OK(me, set(&of, &options));
        for (int64_t pass = 0; pass < 4; ++pass) {
            options.no_warm_start = pass == 2;
            if (pass == 2) RANK_OK(me, set(&of, &options));
            run_pass(&of, pass);
            RANK_EXPECT(me, distance(&of, pass, sum ? me->size : 1) < 0.01); /* of float16 */
            const tutti_buffer matrix = gradient_of(&of, 3, 0);
            RANK_EXPECT(me, fabs(get_element(matrix.dtype, matrix.data, 77).real -
                                 (sum ? me->size : 1) * mean_of(&of, pass, 3, 77)) < 1e-5);
        }
        model_free(&of);
    }
}
RANK_TEST(factors_of_full_rank_are_exact, 3)

/* How far the mean of many passes' results is from the mean gradient, the same in all of them. */
static void find_distance(rank_context* me, uint32_t no_error_feedback, double* most) {
    enum { PASSES = 200, PARAMETER = 6, COUNT = 1200 };
    static const int64_t first_rows[MOST_PARAMETERS] = {0, 0, 0, 0, 0, 0, 30, 0, 0, 0};
    double sums[COUNT] = {0};
    model of = model_of(me, floats, 1);
    tutti_power_sgd_options options = from_second_pass(4);
    options.no_error_feedback = no_error_feedback;
    *most = 0;
    RANK_OK(me, model_create(&of, me->group, NULL));
    RANK_OK(me,
            tutti_reducer_set_power_sgd(of.reducer, first_rows, of.count, &options, &me->error));
    run_pass(&of, 0);
    for (int pass = 0; pass < PASSES && !me->failed; ++pass) {
        run_pass(&of, 0);
        const tutti_buffer place = gradient_of(&of, PARAMETER, 0);
        for (int at = 0; at < COUNT; ++at) sums[at] += ((const float*)place.data)[at];
    }
    for (int at = 0; at < COUNT; ++at) {
        const double off = fabs(sums[at] / (double)PASSES - mean_of(&of, 0, PARAMETER, at));
        *most = off > *most ? off : *most;
    }
    model_free(&of);
}

static void error_feedback_loses_nothing_in_the_end(rank_context* me) {
    double with, without;
    find_distance(me, 0, &with);
    find_distance(me, 1, &without);
    if (with > 0.05 || without < 0.3) printf("with %g, without %g\n", with, without);
    RANK_EXPECT(me, with < 0.05 && without > 0.3);
}
RANK_TEST(error_feedback_loses_nothing_in_the_end, 2)

/* Factors of 20 x 35, 50 x 100 and 30 x 40; 8 x 8 is too small for a rate of 4 + 1. */
static void bytes_are_those_of_the_factors(rank_context* me) {
    model of = model_of(me, floats, 1);
    const tutti_reducer_options buckets = small_buckets();
    tutti_power_sgd_options options = from_second_pass(2);
    options.min_compression_rate = 5;
    RANK_OK(me, model_create(&of, me->group, &buckets));
    RANK_OK(me, set(&of, &options));
    run_pass(&of, 0);
    const int64_t all = logged(&of, "communicated_bytes");
    RANK_EXPECT(me, all == logged(&of, "gradient_bytes"));
    run_pass(&of, 1);
    const int64_t vectors = 1 + 33 + 1 + 64 + 257 + 3;
    const int64_t factors = 2 * (20 + 35 + 50 + 100 + 30 + 40);
    RANK_EXPECT(me, logged(&of, "communicated_bytes") - all == 4 * (vectors + factors));
    /* Gradients that are not compressed are exact. */
    const tutti_buffer bias = gradient_of(&of, 4, 0);
    RANK_EXPECT(me,
                is_about(get_element(bias.dtype, bias.data, 5).real, mean_of(&of, 1, 4, 5), 1e-6));
    model_free(&of);
}
RANK_TEST(bytes_are_those_of_the_factors, 4)

/* As the ranks' bits agree, so do the models that they train. */
static void ranks_get_the_same_bits(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_power_sgd_options options = from_second_pass(3);
    RANK_OK(me, model_create(&of, me->group, NULL));
    RANK_OK(me, set(&of, &options));
    for (int64_t pass = 0; pass < 4; ++pass) run_pass(&of, pass);
    float own[5000], first[5000];
    const tutti_buffer place = gradient_of(&of, 3, 0);
    const tutti_buffer of_rank_0 = TUTTI_BUFFER_INIT(first, 5000, TUTTI_FLOAT32);
    memcpy(own, place.data, sizeof own);
    memcpy(first, own, sizeof own);
    RANK_OK(me, tutti_broadcast(me->group, &of_rank_0, 0, NULL, NULL, &me->error));
    RANK_EXPECT(me, memcmp(own, first, sizeof own) == 0);
    RANK_EXPECT(me, distance(&of, 3, 1) > 0.01); /* they are not the means */
    model_free(&of);
}
RANK_TEST(ranks_get_the_same_bits, 4)

/* A matrix of zeros has no direction; one with a NaN has none that is any use. */
static void zeros_and_nan_do_not_stay(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_power_sgd_options options = from_second_pass(1000);
    options.min_compression_rate = 0.001;
    RANK_OK(me, model_create(&of, me->group, NULL));
    RANK_OK(me, set(&of, &options));
    run_pass(&of, 0);
    for (int pass = 0; pass < 2; ++pass) { /* of zeros, then with a NaN of one rank */
        clear(&of, 0);
        const tutti_buffer place = gradient_of(&of, 3, 0);
        if (pass == 1 && me->rank == 1) put_element(place.dtype, place.data, 9, real_number(NAN));
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        for (int64_t i = 0; i < of.count; ++i) {
            RANK_OK(me, tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error));
        }
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        const double result = get_element(place.dtype, place.data, 4999).real;
        RANK_EXPECT(me, pass == 1 ? isnan(result) : result == 0);
    }
    for (int64_t pass = 1; pass < 3; ++pass) {
        run_pass(&of, pass);
        RANK_EXPECT(me, distance(&of, pass, 1) < 1e-4);
    }
    model_free(&of);
}
RANK_TEST(zeros_and_nan_do_not_stay, 2)

/* A parameter that no rank uses keeps what earlier passes left out, for the pass that uses it. */
static void what_was_left_out_waits_for_a_use(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_reducer_options buckets = small_buckets();
    tutti_power_sgd_options options = from_second_pass(1);
    buckets.find_unused_parameters = 1;
    RANK_OK(me, model_create(&of, me->group, &buckets));
    RANK_OK(me, set(&of, &options));
    run_pass(&of, 0);
    run_pass(&of, 0);
    const tutti_buffer place = gradient_of(&of, 3, 0);
    for (int pass = 0; pass < 2; ++pass) { /* unused, then used with a gradient of zeros */
        memset(place.data, 0, (size_t)place.count * sizeof(float));
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        if (pass == 1) RANK_OK(me, tutti_reducer_mark_ready(of.reducer, 3, NULL, &me->error));
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        double most = 0;
        for (int64_t at = 0; at < place.count; ++at) {
            const double size = fabs(get_element(place.dtype, place.data, at).real);
            most = size > most ? size : most;
        }
        RANK_EXPECT(me, pass == 0 ? most == 0 : most > 0.01);
    }
    model_free(&of);
}
RANK_TEST(what_was_left_out_waits_for_a_use, 2)

static void options_that_differ_are_shown_to_all_ranks(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_power_sgd_options options = from_second_pass(1);
    int64_t other[MOST_PARAMETERS];
    RANK_OK(me, model_create(&of, me->group, NULL));
    options.random_seed = me->rank == 1 ? 4 : 3;
    RANK_STATUS(me, set(&of, &options), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "reducer_set_power_sgd on group");
    RANK_SAYS(me, "random_seed 4");
    RANK_SAYS(me, "random_seed 3");
    options.random_seed = 3;
    memcpy(other, rows, sizeof rows);
    if (me->rank == 1) other[3] = 100;
    RANK_STATUS(me, tutti_reducer_set_power_sgd(of.reducer, other, of.count, &options, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "parameter 3 \"fc1.weight\" of 100 rows");
    RANK_SAYS(me, "parameter 3 \"fc1.weight\" of 50 rows");
    if (me->rank == 1) other[3] = 99;
    const tutti_status status =
        tutti_reducer_set_power_sgd(of.reducer, other, of.count, &options, &me->error);
    RANK_EXPECT(me, status == (me->rank == 1 ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_MISMATCH));
    RANK_SAYS(me, "rows[3] is 99, and parameter 3 \"fc1.weight\" has 5000 elements");
    RANK_OK(me, set(&of, &options));
    run_pass(&of, 0);
    RANK_EXPECT(me, distance(&of, 0, 1) < 1e-6);
    model_free(&of);
}
RANK_TEST(options_that_differ_are_shown_to_all_ranks, 3)

static void options_that_cannot_be_are_named(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_power_sgd_options options = from_second_pass(-1);
    RANK_OK(me, model_create(&of, me->group, NULL));
    RANK_REFUSES(me, set(&of, &options), "options.matrix_approximation_rank is -1");
    options = from_second_pass(1);
    options.start_iteration = -2;
    RANK_REFUSES(me, set(&of, &options), "options.start_iteration is -2");
    options = from_second_pass(1);
    options.min_compression_rate = -1;
    RANK_REFUSES(me, set(&of, &options), "options.min_compression_rate is -1");
    options = from_second_pass(1);
    options.orthogonalization_epsilon = HUGE_VAL;
    RANK_REFUSES(me, set(&of, &options), "options.orthogonalization_epsilon is inf");
    options = from_second_pass(1);
    options.no_warm_start = 2;
    RANK_REFUSES(me, set(&of, &options), "options.no_warm_start is 2; it must be 0 or 1");
    RANK_REFUSES(me, tutti_reducer_set_power_sgd(of.reducer, rows, 9, NULL, &me->error),
                 "count is 9; rows has a number for each of the reducer's 10 parameters");
    RANK_REFUSES(me, tutti_reducer_set_power_sgd(of.reducer, NULL, 10, NULL, &me->error),
                 "rows is NULL");
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    RANK_REFUSES(me, set(&of, NULL), "a pass has begun and not ended");
    model_free(&of);
}
RANK_TEST(options_that_cannot_be_are_named, 1)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(factors_of_full_rank_are_exact_on_ranks),
        TEST(error_feedback_loses_nothing_in_the_end_on_ranks),
        TEST(bytes_are_those_of_the_factors_on_ranks),
        TEST(ranks_get_the_same_bits_on_ranks),
        TEST(zeros_and_nan_do_not_stay_on_ranks),
        TEST(what_was_left_out_waits_for_a_use_on_ranks),
        TEST(options_that_differ_are_shown_to_all_ranks_on_ranks),
        TEST(options_that_cannot_be_are_named_on_ranks),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
