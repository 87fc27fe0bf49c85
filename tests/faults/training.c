#include "training.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "operations.h"

enum { PARAMETERS = 4, COUNT = 50000 };

/* The optimizer's turn, bucket by bucket. */
static tutti_status take_buckets(tutti_reducer* reducer, int64_t* left, tutti_error* error) {
    for (;;) {
        tutti_bucket bucket = TUTTI_BUCKET_INIT;
        const tutti_status status = tutti_reducer_next_bucket(reducer, &bucket, error);
        if (status != TUTTI_OK || bucket.index < 0) return status;
        puts(".");
        fflush(stdout);
        if (--*left == 0) kill(getpid(), SIGKILL);
    }
}

static tutti_status run_pass(tutti_reducer* reducer, int64_t* left, tutti_error* error) {
    tutti_work* work = NULL;
    tutti_status status = tutti_reducer_begin(reducer, 1, error);
    for (int64_t i = PARAMETERS - 1; status == TUTTI_OK && i >= 0; --i) {
        status = tutti_reducer_mark_ready(reducer, i, NULL, error);
    }
    if (status == TUTTI_OK) status = tutti_reducer_finish(reducer, &work, error);
    if (status == TUTTI_OK) status = take_buckets(reducer, left, error);
    if (work != NULL) {
        const tutti_status end = tutti_work_wait(work, 0, NULL);
        if ((end == TUTTI_OK) != (status == TUTTI_OK)) exit(4);
    }
    tutti_work_release(work);
    return status;
}

tutti_status train(const char* step, tutti_error* error) {
    static float values[PARAMETERS][COUNT];
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_buffer parameters[PARAMETERS];
    tutti_reducer* reducer = NULL;
    int64_t left = number_in(step, "die", 0);
    for (int i = 0; i < PARAMETERS; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(values[i], COUNT, TUTTI_FLOAT32);
        parameters[i] = one;
    }
    options.bucket_cap_bytes = 1; /* each parameter has a bucket of its own */
    tutti_status status = tutti_reducer_create(TUTTI_GROUP_WORLD, parameters, NULL, NULL,
                                               PARAMETERS, &options, &reducer, error);
    while (status == TUTTI_OK) status = run_pass(reducer, &left, error);
    tutti_reducer_release(reducer);
    return status;
}
