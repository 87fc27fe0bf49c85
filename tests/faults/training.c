#include "training.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "operations.h"

enum { PARAMETERS = 4, COUNT = 50000, MOST_RANKS = 8 };

typedef struct {
    tutti_reducer* reducer;
    int64_t left; /* buckets until this process kills itself; 0: it does not */
    int64_t pass;
    int32_t origin; /* the rank in the first group */
} training;

static void check(int is_right) {
    if (!is_right) exit(9);
}

static float gradient_of(int64_t origin, int64_t pass, int64_t parameter) {
    return (float)(4 * ((origin * 5 + pass * 3 + parameter) % 9));
}

/* The members by their first ranks. */
static int32_t members(int32_t* origins) {
    check(tutti_get_process_group_ranks(TUTTI_GROUP_WORLD, origins, MOST_RANKS, NULL) == TUTTI_OK);
    return tutti_get_world_size(TUTTI_GROUP_WORLD);
}

/* Whether the bucket, of one parameter, has the mean of the members. */
static void check_bucket(const training* run, const tutti_bucket* bucket) {
    int32_t origins[MOST_RANKS];
    const int32_t size = members(origins);
    const float* const numbers = (const float*)bucket->gradients.data;
    float sum = 0;
    for (int32_t rank = 0; rank < size; ++rank) {
        sum += gradient_of(origins[rank], run->pass, bucket->parameters[0]);
    }
    for (int64_t at = 0; at < COUNT; ++at) {
        const float off = numbers[at] - sum / (float)size;
        check(off < 1e-5f && off > -1e-5f);
    }
}

/* The optimizer's turn, bucket by bucket. */
static tutti_status take_buckets(training* run, tutti_error* error) {
    for (;;) {
        tutti_bucket bucket = TUTTI_BUCKET_INIT;
        const tutti_status status = tutti_reducer_next_bucket(run->reducer, &bucket, error);
        if (status != TUTTI_OK || bucket.index < 0) return status;
        check_bucket(run, &bucket);
        puts(".");
        fflush(stdout);
        if (--run->left == 0) kill(getpid(), SIGKILL);
    }
}

static void compute(const training* run, int64_t parameter) {
    tutti_buffer place = TUTTI_BUFFER_INIT(NULL, 0, TUTTI_FLOAT32);
    check(tutti_reducer_gradient(run->reducer, parameter, &place, NULL) == TUTTI_OK);
    for (int64_t at = 0; at < COUNT; ++at) {
        ((float*)place.data)[at] = gradient_of(run->origin, run->pass, parameter);
    }
}

static tutti_status run_pass(training* run, tutti_error* error) {
    tutti_work* work = NULL;
    tutti_status status = tutti_reducer_begin(run->reducer, 1, error);
    for (int64_t i = PARAMETERS - 1; status == TUTTI_OK && i >= 0; --i) {
        compute(run, i);
        status = tutti_reducer_mark_ready(run->reducer, i, NULL, error);
    }
    if (status == TUTTI_OK) status = tutti_reducer_finish(run->reducer, &work, error);
    if (status == TUTTI_OK) status = take_buckets(run, error);
    if (work != NULL) {
        const tutti_status end = tutti_work_wait(work, 0, NULL);
        if ((end == TUTTI_OK) != (status == TUTTI_OK)) exit(4);
    }
    tutti_work_release(work);
    if (status == TUTTI_OK) ++run->pass;
    return status;
}

static tutti_status create(training* run, tutti_error* error) {
    static float values[PARAMETERS][COUNT];
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_buffer parameters[PARAMETERS];
    for (int i = 0; i < PARAMETERS; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(values[i], COUNT, TUTTI_FLOAT32);
        parameters[i] = one;
    }
    options.bucket_cap_bytes = 1; /* each parameter has a bucket of its own */
    return tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, NULL, NULL, PARAMETERS, &options,
                                &run->reducer, error);
}

/* The others go on with the pass that was interrupted, or with a later one if a rank has ended it.
 * More of them may die meanwhile. */
static tutti_status go_on(training* run, tutti_error* error) {
    const tutti_status status = tutti_reducer_shrink(run->reducer, TUTTI_GROUP_WORLD, error);
    if (status != TUTTI_OK) return status;
    const tutti_buffer pass = TUTTI_BUFFER_INIT(&run->pass, 1, TUTTI_INT64);
    return tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &pass, TUTTI_MAX, NULL, NULL, error);
}

static int is_death(tutti_status status) {
    return status == TUTTI_ERR_PEER_LOST || status == TUTTI_ERR_ABORTED;
}

/* So many passes, whoever dies. */
static tutti_status train_on(training* run, int64_t passes, tutti_error* error) {
    for (;;) {
        tutti_status status = TUTTI_OK;
        while (status == TUTTI_OK && run->pass < passes) status = run_pass(run, error);
        if (status == TUTTI_OK) status = tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, error);
        if (status == TUTTI_OK) return status;
        while (is_death(status)) {
            status = tutti_shrink_group(TUTTI_GROUP_WORLD, NULL, 0, TUTTI_SHRINK_DEFAULT, NULL,
                                        NULL, NULL, error);
            if (status != TUTTI_OK) return status;
            status = go_on(run, error);
        }
        if (status != TUTTI_OK) return status;
    }
}

tutti_status train(const char* step, tutti_error* error) {
    training run = {NULL, number_in(step, "die", 0), 0, tutti_get_rank(TUTTI_GROUP_WORLD)};
    const int64_t passes = number_in(step, "passes", 0);
    tutti_status status = create(&run, error);
    if (passes > 0) {
        if (status == TUTTI_OK) status = train_on(&run, passes, error);
    } else {
        while (status == TUTTI_OK) status = run_pass(&run, error);
    }
    tutti_reducer_release(run.reducer);
    return status;
}
