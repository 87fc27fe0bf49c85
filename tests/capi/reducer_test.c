/* Do gradients that go through buckets become the means or sums of all ranks', whatever the order
 * in which they are ready, and do ranks that differ hear of it? The program's argument names the
 * backend. */
#include <pthread.h>

#include "model.h"

static const tutti_dtype mixed[] = {TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_FLOAT32};

/* The sum of all ranks' parts of one element, over passes from `first` to `last`. */
static double sum_of(const model* of, int64_t first, int64_t last, int64_t parameter, int64_t at) {
    double sum = 0;
    for (int64_t rank = 0; rank < of->me->size; ++rank) {
        for (int64_t pass = first; pass <= last; ++pass) {
            sum += part_of_gradient(rank, pass, parameter, at);
        }
    }
    return sum;
}

static void expect_results(const model* of, int64_t first, int64_t last, int is_own,
                           double factor) {
    rank_context* const me = of->me;
    for (int64_t i = 0; i < of->count; ++i) {
        const tutti_buffer place = gradient_of(of, i, is_own);
        for (int64_t at = 0; at < place.count; ++at) {
            const double wanted = factor * sum_of(of, first, last, i, at);
            RANK_EXPECT(me, get_element(place.dtype, place.data, at).real == wanted);
        }
        RANK_EXPECT(me, tutti_reducer_is_used(of->reducer, i) == 1);
    }
}

/* A whole pass, in this rank's own order. */
static void run_pass(const model* of, int64_t pass, uint32_t synchronise, int is_own, int adds) {
    rank_context* const me = of->me;
    int64_t order[MOST_PARAMETERS];
    shuffle(of, pass, order);
    RANK_OK(me, tutti_reducer_begin(of->reducer, synchronise, &me->error));
    for (int64_t i = 0; i < of->count; ++i) {
        compute(of, order[i], pass, is_own, adds);
        RANK_OK(me, tutti_reducer_mark_ready(of->reducer, order[i],
                                             is_own ? &of->own[order[i]] : NULL, &me->error));
    }
    RANK_OK(me, tutti_reducer_finish(of->reducer, NULL, &me->error));
}

/* The same on all ranks: the parameters of all buckets, each bucket of one dtype. */
static void expect_same_buckets(const model* of) {
    rank_context* const me = of->me;
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    int64_t digest = 0, seen = 0;
    RANK_OK(me, tutti_reducer_get_bucket(of->reducer, 0, &bucket, &me->error));
    RANK_EXPECT(me, bucket.bucket_count > 2);
    for (int32_t index = 0; index < bucket.bucket_count; ++index) {
        RANK_OK(me, tutti_reducer_get_bucket(of->reducer, index, &bucket, &me->error));
        RANK_EXPECT(me, bucket.index == index && bucket.parameter_count > 0);
        RANK_EXPECT(me, (int32_t)bucket.is_last == (index + 1 == bucket.bucket_count));
        int64_t place = 0;
        for (int64_t i = 0; i < bucket.parameter_count; ++i, ++seen) {
            const tutti_buffer gradient = gradient_of(of, bucket.parameters[i], 0);
            RANK_EXPECT(me, bucket.offsets[i] == place && bucket.counts[i] == gradient.count);
            RANK_EXPECT(me, gradient.dtype == bucket.gradients.dtype);
            digest = digest * 31 % 1000003 + bucket.parameters[i] + index;
            place += bucket.counts[i];
        }
        RANK_EXPECT(me, place == bucket.gradients.count);
    }
    RANK_EXPECT(me, seen == of->count);
    RANK_EXPECT(me, rank_sum(me, me->group, digest) == digest * me->size);
}

static void gradients_become_means_in_any_order(rank_context* me) {
    model of = model_of(me, mixed, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    expect_same_buckets(&of);
    for (int64_t pass = 0; pass < 6 && !me->failed; ++pass) {
        const int is_own = pass % 3 == 2;
        run_pass(&of, pass, 1, is_own, 0);
        if (!me->failed) expect_results(&of, pass, pass, is_own, 1.0 / me->size);
        RANK_EXPECT(me, me->failed || tutti_reducer_generation(of.reducer) == (pass > 0));
    }
    if (!me->failed) expect_same_buckets(&of);
    model_free(&of);
}
RANK_TEST(gradients_become_means_in_any_order, 4)

static void every_dtype_is_added_up(rank_context* me) {
    const tutti_dtype all[] = {TUTTI_INT8,      TUTTI_INT16,     TUTTI_INT32,   TUTTI_INT64,
                               TUTTI_FLOAT16,   TUTTI_BFLOAT16,  TUTTI_FLOAT32, TUTTI_FLOAT64,
                               TUTTI_COMPLEX64, TUTTI_COMPLEX128};
    for (size_t first = 0; first < 10 && !me->failed; first += 2) {
        model of = model_of(me, all + first, 2);
        tutti_reducer_options options = small_buckets();
        options.sum = 1;
        RANK_OK(me, model_create(&of, me->group, &options));
        run_pass(&of, 1, 1, 0, 0);
        if (!me->failed) expect_results(&of, 1, 1, 0, 1);
        tutti_reducer_release(of.reducer);
        of.reducer = NULL;
        options.sum = 0;
        if (first < 4) {
            RANK_STATUS(me, model_create(&of, me->group, &options), TUTTI_ERR_INVALID_ARGUMENT);
            RANK_SAYS(me, "which has no mean; options.sum would add it up");
        } else {
            options.predivide = 2;
            RANK_OK(me, model_create(&of, me->group, &options));
            run_pass(&of, 2, 1, 1, 0);
            if (!me->failed) expect_results(&of, 2, 2, 1, 1.0 / me->size);
        }
        model_free(&of);
    }
}
RANK_TEST(every_dtype_is_added_up, 2)

static void passes_without_synchronisation_accumulate(rank_context* me) {
    model of = model_of(me, mixed, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int is_own = 0; is_own < 2 && !me->failed; ++is_own) {
        for (int64_t k = 1; k < 4 && !me->failed; ++k) {
            clear(&of, is_own);
            for (int64_t pass = 0; pass <= k && !me->failed; ++pass) {
                run_pass(&of, pass, pass == k, is_own, 1);
            }
            if (!me->failed) expect_results(&of, 0, k, is_own, 1.0 / me->size);
        }
    }
    model_free(&of);
}
RANK_TEST(passes_without_synchronisation_accumulate, 2)

/* Some ranks have more micro-batches than others; the last pass of each is synchronised. A
 * parameter that is marked in an earlier one alone counts, too. */
static void a_parameter_that_only_an_earlier_pass_used_counts(rank_context* me) {
    model of = model_of(me, mixed, 3);
    tutti_reducer_options options = small_buckets();
    options.find_unused_parameters = 1;
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int is_own = 0; is_own < 2 && !me->failed; ++is_own) {
        clear(&of, is_own);
        for (int32_t pass = 0; pass <= me->rank; ++pass) {
            RANK_OK(me, tutti_reducer_begin(of.reducer, pass == me->rank, &me->error));
            if (pass == 0) {
                compute(&of, 3, 0, is_own, 1);
                RANK_OK(me, tutti_reducer_mark_ready(of.reducer, 3, is_own ? &of.own[3] : NULL,
                                                     &me->error));
            }
            RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        }
        const tutti_buffer place = gradient_of(&of, 3, is_own);
        for (int64_t at = 0; at < place.count; ++at) {
            RANK_EXPECT(me, get_element(place.dtype, place.data, at).real ==
                                sum_of(&of, 0, 0, 3, at) / me->size);
        }
        RANK_EXPECT(me, tutti_reducer_is_used(of.reducer, 3) == 1);
        RANK_EXPECT(me, tutti_reducer_is_used(of.reducer, 4) == 0);
    }
    model_free(&of);
}
RANK_TEST(a_parameter_that_only_an_earlier_pass_used_counts, 4)

/* Whether a rank uses a parameter in a pass: sometimes no rank does. */
static int uses(int64_t rank, int64_t pass, int64_t parameter) {
    const uint64_t common = draw_at(7, 99, (uint64_t)pass, (uint64_t)parameter);
    return common % 3 != 0 &&
           draw_at(7, (uint64_t)rank, (uint64_t)pass, (uint64_t)parameter) % 2 == 0;
}

static void expect_unused(const model* of, int64_t pass) {
    rank_context* const me = of->me;
    for (int64_t i = 0; i < of->count; ++i) {
        int is_used = 0;
        for (int64_t rank = 0; rank < me->size; ++rank) is_used |= uses(rank, pass, i);
        RANK_EXPECT(me, tutti_reducer_is_used(of->reducer, i) == is_used);
        const tutti_buffer place = gradient_of(of, i, 0);
        for (int64_t at = 0; at < place.count; ++at) {
            double sum = 0;
            for (int64_t rank = 0; rank < me->size; ++rank) {
                if (uses(rank, pass, i)) sum += part_of_gradient(rank, pass, i, at);
            }
            RANK_EXPECT(me, get_element(place.dtype, place.data, at).real == sum / me->size);
        }
        if (is_used || of->own[i].count == 0) continue;
        RANK_EXPECT(me, get_element(of->own[i].dtype, of->own[i].data, 0).real == 3);
    }
}

static void unused_parameters_flip_at_random(rank_context* me) {
    model of = model_of(me, mixed, 3);
    tutti_reducer_options options = small_buckets();
    options.find_unused_parameters = 1;
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int64_t pass = 0; pass < 200 && !me->failed; ++pass) {
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        for (int64_t i = of.count - 1; i >= 0; --i) {
            const int is_own = (pass + i) % 2 == 0;
            if (uses(me->rank, pass, i)) {
                compute(&of, i, pass, is_own, 0);
                RANK_OK(me, tutti_reducer_mark_ready(of.reducer, i, is_own ? &of.own[i] : NULL,
                                                     &me->error));
            } else if (of.own[i].count > 0) {
                put_element(of.own[i].dtype, of.own[i].data, 0, real_number(3));
                if (pass % 2) RANK_OK(me, tutti_reducer_mark_unused(of.reducer, &i, 1, &me->error));
            }
        }
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        if (!me->failed) expect_unused(&of, pass);
    }
    RANK_EXPECT(me, tutti_reducer_generation(of.reducer) == 0);
    model_free(&of);
}
RANK_TEST(unused_parameters_flip_at_random, 4)

static void a_parameter_without_gradient_is_named_to_all_ranks(rank_context* me) {
    model of = model_of(me, mixed, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    run_pass(&of, 0, 1, 0, 0);
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size); /* all are in this pass */
    for (int64_t i = 0; i < of.count; ++i) {
        if (me->rank == 1 && (i == 3 || i == 8)) continue;
        /* Rank 1 may have ended the pass before. */
        const tutti_status marked = tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error);
        RANK_EXPECT(me, marked == TUTTI_OK || (me->rank != 1 && marked == TUTTI_ERR_MISMATCH));
    }
    RANK_STATUS(me, tutti_reducer_finish(of.reducer, NULL, &me->error), TUTTI_ERR_MISMATCH);
    RANK_SAYS(
        me, "parameters which did not receive grad for rank 1: 3 \"fc1.weight\", 8 \"fc3.weight\"");
    RANK_EXPECT(me, me->error.rank == 1);
    RANK_STATUS(me, tutti_reducer_begin(of.reducer, 1, &me->error), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "the reducer has failed before");
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size); /* the program's group is sound */
    model_free(&of);
}
RANK_TEST(a_parameter_without_gradient_is_named_to_all_ranks, 3)

static void mark_often(const model* of, int64_t pass) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_begin(of->reducer, 1, &me->error));
    for (int64_t i = 0; i < of->count; ++i) {
        if (i == 4) continue; /* never used */
        compute(of, i, pass, 0, 0);
        RANK_OK(me, tutti_reducer_mark_ready(of->reducer, i, NULL, &me->error));
        if (i == 6) RANK_OK(me, tutti_reducer_mark_ready(of->reducer, i, NULL, &me->error));
    }
}

static void a_static_graph_learns_from_the_first_pass(rank_context* me) {
    model of = model_of(me, mixed, 3);
    tutti_reducer_options options = small_buckets();
    options.static_graph = 1;
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int64_t pass = 0; pass < 5; ++pass) {
        mark_often(&of, pass);
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        for (int64_t i = 0; i < of.count; ++i) {
            RANK_EXPECT(me, tutti_reducer_is_used(of.reducer, i) == (i != 4));
            const tutti_buffer place = gradient_of(&of, i, 0);
            if (place.count == 0) continue;
            const double wanted = i == 4 ? 0 : sum_of(&of, pass, pass, i, 0) / me->size;
            RANK_EXPECT(me, get_element(place.dtype, place.data, 0).real == wanted);
        }
    }
    RANK_EXPECT(me, tutti_reducer_generation(of.reducer) == 1);
    mark_often(&of, 9);
    RANK_REFUSES(me, tutti_reducer_mark_ready(of.reducer, 6, NULL, &me->error),
                 "parameter 6 \"fc2\" was marked 3 times in this pass, and 2 in the first one");
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size); /* all are in this pass */
    RANK_STATUS(me, tutti_reducer_finish(of.reducer, NULL, &me->error), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "they did in the first pass, and options.static_graph is 1");
    model_free(&of);
}
RANK_TEST(a_static_graph_learns_from_the_first_pass, 2)

typedef struct marking {
    const model* of;
    int64_t first;
    int failed;
} marking;

static void* mark_every_fourth(void* given) {
    marking* const mine = (marking*)given;
    tutti_error said = TUTTI_ERROR_INIT;
    for (int64_t i = mine->first; i < mine->of->count; i += 4) {
        compute(mine->of, i, 1, 1, 0);
        mine->failed |=
            tutti_reducer_mark_ready(mine->of->reducer, i, &mine->of->own[i], &said) != TUTTI_OK;
    }
    return NULL;
}

static void marks_come_from_several_threads(rank_context* me) {
    model of = model_of(me, mixed, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int pass = 0; pass < 10; ++pass) {
        marking threads[4];
        pthread_t ids[4];
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        for (int i = 0; i < 4; ++i) {
            threads[i].of = &of;
            threads[i].first = i;
            threads[i].failed = 0;
            RANK_EXPECT(me, pthread_create(&ids[i], NULL, mark_every_fourth, &threads[i]) == 0);
        }
        for (int i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
        for (int i = 0; i < 4; ++i) RANK_EXPECT(me, !threads[i].failed);
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        expect_results(&of, 1, 1, 1, 1.0 / me->size);
    }
    model_free(&of);
}
RANK_TEST(marks_come_from_several_threads, 2)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(gradients_become_means_in_any_order_on_ranks),
        TEST(every_dtype_is_added_up_on_ranks),
        TEST(passes_without_synchronisation_accumulate_on_ranks),
        TEST(a_parameter_that_only_an_earlier_pass_used_counts_on_ranks),
        TEST(unused_parameters_flip_at_random_on_ranks),
        TEST(a_parameter_without_gradient_is_named_to_all_ranks_on_ranks),
        TEST(a_static_graph_learns_from_the_first_pass_on_ranks),
        TEST(marks_come_from_several_threads_on_ranks),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
