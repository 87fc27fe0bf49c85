/* Does a reducer go on in another group, with the sums of those that are there, whatever became of
 * the pass before? Nobody dies here; see tests/faults/training_test.c. The program's argument names
 * the backend. */
#include "model.h"

enum { OUT = 1 }; /* the rank that the others exclude */

static const tutti_dtype floats[] = {TUTTI_FLOAT32};
static const tutti_dtype mixed[] = {TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_FLOAT32};
/* The rows of the parameters of model_of(); 0 has no matrix. */
static const int64_t rows[] = {20, 0, 0, 50, 0, 1, 30, 8, 0, 0};

/* The ranks that `members` has a bit for. */
static double mean_of(uint32_t members, int64_t pass, int64_t parameter, int64_t at) {
    double sum = 0, count = 0;
    for (int64_t rank = 0; rank < 32; ++rank) {
        if ((members >> rank & 1) == 0) continue;
        sum += part_of_gradient(rank, pass, parameter, at);
        count += 1;
    }
    return sum / count;
}

static void expect_means(const model* of, uint32_t members, int64_t pass, double factor,
                         double tolerance) {
    rank_context* const me = of->me;
    for (int64_t i = 0; i < of->count; ++i) {
        const tutti_buffer place = gradient_of(of, i, 0);
        for (int64_t at = 0; at < place.count; ++at) {
            RANK_EXPECT(me, is_about(get_element(place.dtype, place.data, at).real,
                                     factor * mean_of(members, pass, i, at), tolerance));
        }
    }
}

/* The first so many parameters: not in the order of the first buckets. */
static void mark(const model* of, int64_t pass, int64_t count) {
    rank_context* const me = of->me;
    for (int64_t i = 0; i < count; ++i) {
        compute(of, i, pass, 0, 0);
        RANK_OK(me, tutti_reducer_mark_ready(of->reducer, i, NULL, &me->error));
    }
}

static void run_pass(const model* of, int64_t pass) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_begin(of->reducer, 1, &me->error));
    mark(of, pass, of->count);
    if (!me->failed) RANK_OK(me, tutti_reducer_finish(of->reducer, NULL, &me->error));
}

static void shrink(const model* of, tutti_group* group) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_shrink(of->reducer, group, &me->error));
    for (int64_t i = 0; i < of->count; ++i) {
        const tutti_buffer place = gradient_of(of, i, 0);
        for (int64_t at = 0; at < place.count; ++at) {
            RANK_EXPECT(me, get_element(place.dtype, place.data, at).real == 0);
        }
        RANK_EXPECT(me, tutti_reducer_is_used(of->reducer, i) == 0);
    }
}

/* A group without rank OUT, which gets NULL. */
static tutti_group* group_of_the_others(rank_context* me) {
    const int32_t out = OUT;
    tutti_group* group = NULL;
    if (me->rank == OUT) return NULL;
    if (tutti_shrink_group(me->group, &out, 1, 0, NULL, NULL, &group, &me->error) != TUTTI_OK) {
        rank_failed(me, __FILE__, __LINE__, "shrink_group", me->error.status);
    }
    return group;
}

/* Rank OUT hears of it in its pass, which no other ends. */
static void expect_to_be_out(const model* of) {
    rank_context* const me = of->me;
    tutti_status status = TUTTI_OK;
    for (int64_t i = 4; status == TUTTI_OK && i < of->count; ++i) {
        status = tutti_reducer_mark_ready(of->reducer, i, NULL, &me->error);
    }
    if (status == TUTTI_OK) status = tutti_reducer_finish(of->reducer, NULL, &me->error);
    RANK_STATUS(me, status, TUTTI_ERR_ABORTED);
    RANK_STATUS(me, tutti_reducer_begin(of->reducer, 1, &me->error), TUTTI_ERR_ABORTED);
}

/* Some buckets of the pass are reduced, others not. */
static void go_on_after_a_pass_that_was_cut(rank_context* me) {
    const uint32_t others = 0xf & ~(1u << OUT);
    model of = model_of(me, mixed, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int64_t pass = 0; pass < 3 && !me->failed; ++pass) run_pass(&of, pass);
    if (!me->failed) expect_means(&of, 0xf, 2, 1, 0);
    RANK_OK(me, tutti_reducer_begin(of.reducer, 0, &me->error));
    mark(&of, 7, 8);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    mark(&of, 3, me->rank == OUT ? 4 : 9);
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size); /* all are in this pass */
    tutti_group* const group = group_of_the_others(me);
    if (group == NULL) {
        if (!me->failed) expect_to_be_out(&of);
    } else {
        shrink(&of, group);
        RANK_EXPECT(me, tutti_reducer_generation(of.reducer) == 2);
        for (int64_t pass = 4; pass < 8 && !me->failed; ++pass) {
            run_pass(&of, pass);
            if (!me->failed) expect_means(&of, others, pass, 1, 1e-6);
            RANK_EXPECT(me, tutti_reducer_generation(of.reducer) == 2 + (pass > 4));
        }
    }
    model_free(&of);
    tutti_group_release(group);
}
RANK_TEST(go_on_after_a_pass_that_was_cut, 4)

/* Ranks that learned the graph, or which parameters are used, and others that did not. */
static void start_over_in_the_first_pass(rank_context* me) {
    for (uint32_t is_static = 0; is_static < 2 && !me->failed; ++is_static) {
        model of = model_of(me, mixed, 3);
        tutti_reducer_options options = small_buckets();
        options.static_graph = is_static;
        options.find_unused_parameters = 1;
        tutti_group* whole = NULL;
        RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &whole, &me->error));
        RANK_OK(me, model_create(&of, whole, &options));
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        mark(&of, 0, 4);
        tutti_work* work = NULL;
        if (me->rank == 0) RANK_OK(me, tutti_reducer_finish(of.reducer, &work, &me->error));
        RANK_EXPECT(me, rank_sum(me, whole, 1) == me->size);
        shrink(&of, whole);
        if (me->rank == 0) RANK_STATUS(me, tutti_work_wait(work, 0, &me->error), TUTTI_ERR_ABORTED);
        tutti_work_release(work);
        for (int64_t pass = 1; pass < 4 && !me->failed; ++pass) {
            run_pass(&of, pass);
            if (!me->failed) expect_means(&of, 7, pass, 1, 1e-6);
        }
        RANK_EXPECT(me, tutti_reducer_is_used(of.reducer, 6) == 1);
        model_free(&of);
        RANK_OK(me, tutti_destroy_process_group(whole, NULL, &me->error));
        tutti_group_release(whole);
    }
}
RANK_TEST(start_over_in_the_first_pass, 3)

static tutti_status double_sum(tutti_group* group, const tutti_bucket* bucket, void* user,
                               tutti_error* said) {
    *(int32_t*)user = tutti_get_world_size(group);
    const tutti_status status =
        tutti_all_reduce(group, NULL, &bucket->gradients, TUTTI_SUM, NULL, NULL, said);
    for (int64_t at = 0; at < bucket->gradients.count; ++at) {
        const double sum = get_element(bucket->gradients.dtype, bucket->gradients.data, at).real;
        put_element(bucket->gradients.dtype, bucket->gradients.data, at, real_number(2 * sum));
    }
    return status;
}

enum way { HOOK, FLOAT16, QUANTISED, POWER_SGD, WAYS };

static void choose(const model* of, int way, int32_t* size) {
    rank_context* const me = of->me;
    tutti_power_sgd_options options = TUTTI_POWER_SGD_OPTIONS_INIT;
    options.matrix_approximation_rank = 1000; /* so many are exact */
    options.min_compression_rate = 0.001;
    options.start_iteration = 1;
    if (way == HOOK) {
        RANK_OK(me, tutti_reducer_set_hook(of->reducer, double_sum, size, NULL, &me->error));
    } else if (way == POWER_SGD) {
        RANK_OK(me,
                tutti_reducer_set_power_sgd(of->reducer, rows, of->count, &options, &me->error));
    } else {
        RANK_OK(me, tutti_reducer_set_compression(
                        of->reducer,
                        way == FLOAT16 ? TUTTI_COMPRESSION_FLOAT16 : TUTTI_COMPRESSION_QUANTISED,
                        &me->error));
    }
}

/* Ranks 0 and 1 have a reducer, which goes on beside a new one of rank 2. */
static void ranks_may_join(rank_context* me) {
    for (int way = HOOK; way < WAYS && !me->failed; ++way) {
        const int32_t pair[] = {0, 1};
        const double factor = way == HOOK ? 2 * me->size : 1;
        const double tolerance = way == QUANTISED ? 0.04 : way == FLOAT16 ? 1e-3 : 1e-5;
        int32_t size = 0;
        tutti_group *two = NULL, *all = NULL;
        model of = model_of(me, floats, 1);
        tutti_reducer_options options = small_buckets();
        RANK_OK(me, tutti_new_group(me->group, pair, 2, NULL, NULL, NULL, &two, &me->error));
        RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &all, &me->error));
        if (me->rank < 2) {
            RANK_OK(me, model_create(&of, two, &options));
            choose(&of, way, &size);
            for (int64_t pass = 0; pass < 3 && !me->failed; ++pass) run_pass(&of, pass);
            RANK_EXPECT(me, way != HOOK || size == 2);
            shrink(&of, all);
        } else {
            options.no_initial_broadcast = 1;
            RANK_OK(me, model_create(&of, all, &options));
            choose(&of, way, &size);
        }
        for (int64_t pass = 3; pass < 6 && !me->failed; ++pass) {
            run_pass(&of, pass);
            if (!me->failed) expect_means(&of, 7, pass, factor, tolerance);
        }
        RANK_EXPECT(me, way != HOOK || size == 3);
        model_free(&of);
        RANK_OK(me, tutti_destroy_process_group(all, NULL, &me->error));
        tutti_group_release(all);
        if (me->rank < 2) RANK_OK(me, tutti_destroy_process_group(two, NULL, &me->error));
        if (me->rank < 2) tutti_group_release(two);
    }
}
RANK_TEST(ranks_may_join, 3)

static void refuse_and_go_on(rank_context* me) {
    model of = model_of(me, floats, 1), other = model_of(me, floats, 1);
    const tutti_reducer_options options = small_buckets();
    tutti_group *failed = NULL, *sound = NULL;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &failed, &me->error));
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &sound, &me->error));
    RANK_OK(me, model_create(&of, me->group, &options));
    model_add(&other, "more", 5, TUTTI_FLOAT32);
    RANK_OK(me, model_create(&other, me->group, &options));
    run_pass(&of, 0);
    if (me->failed) return;
    /* As it was. */
    RANK_STATUS(me, tutti_reducer_shrink(of.reducer, TUTTI_GROUP_NON_MEMBER, &me->error),
                TUTTI_ERR_INVALID_HANDLE);
    RANK_EXPECT(me, rank_sum(me, failed, 1) == 2);
    rank_tell(me, me->rank == 0 ? "0 has its sum" : "1 has its sum");
    rank_await(me,
               me->rank == 0 ? "1 has its sum" : "0 has its sum"); /* which a revoke would end */
    RANK_OK(me, tutti_group_revoke(failed, "no more of it", &me->error));
    RANK_STATUS(me, tutti_reducer_shrink(of.reducer, failed, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "no more of it");
    run_pass(&of, 1);
    if (!me->failed) expect_means(&of, 3, 1, 1, 0);
    /* One rank has no reducer; ranks have different ones. */
    const tutti_status declined =
        tutti_reducer_shrink(me->rank == 0 ? NULL : of.reducer, sound, &me->error);
    RANK_EXPECT(me, declined == (me->rank == 0 ? TUTTI_ERR_INVALID_HANDLE : TUTTI_ERR_MISMATCH));
    RANK_STATUS(me,
                tutti_reducer_shrink(me->rank == 0 ? of.reducer : other.reducer, sound, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "10 parameters");
    RANK_SAYS(me, "11 parameters");
    RANK_STATUS(me, tutti_reducer_begin(of.reducer, 1, &me->error), TUTTI_ERR_ABORTED);
    RANK_SAYS(me, "the reducer has failed before");
    /* Again, with the right ones. */
    shrink(&of, sound);
    run_pass(&of, 2);
    if (!me->failed) expect_means(&of, 3, 2, 1, 0);
    model_free(&of);
    model_free(&other);
    RANK_OK(me, tutti_destroy_process_group(failed, NULL, &me->error));
    RANK_OK(me, tutti_destroy_process_group(sound, NULL, &me->error));
    tutti_group_release(failed);
    tutti_group_release(sound);
}
RANK_TEST(refuse_and_go_on, 2)

static tutti_status shrink_here(tutti_group* group, const tutti_bucket* bucket, void* user,
                                tutti_error* said) {
    (void)bucket;
    const tutti_status status = tutti_reducer_shrink(*(tutti_reducer**)user, group, said);
    return status == TUTTI_ERR_INVALID_ARGUMENT ? TUTTI_ERR_BACKEND : status;
}

static void refuse_in_the_hook(rank_context* me) {
    model of = model_of(me, floats, 1);
    RANK_OK(me, model_create(&of, me->group, NULL));
    RANK_OK(me, tutti_reducer_set_hook(of.reducer, shrink_here, &of.reducer, NULL, &me->error));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    for (int64_t i = 0; i < of.count; ++i) {
        RANK_OK(me, tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error));
    }
    RANK_STATUS(me, tutti_reducer_finish(of.reducer, NULL, &me->error), TUTTI_ERR_BACKEND);
    RANK_SAYS(me, "reducer_shrink is called in the hook of this reducer");
    model_free(&of);
}
RANK_TEST(refuse_in_the_hook, 1)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(go_on_after_a_pass_that_was_cut_on_ranks),
        TEST(start_over_in_the_first_pass_on_ranks),
        TEST(ranks_may_join_on_ranks),
        TEST(refuse_and_go_on_on_ranks),
        TEST(refuse_in_the_hook_on_ranks),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
