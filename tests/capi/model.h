/* Models for the tests of reducers: parameters of any dtype, and gradients that are a function of
 * rank, pass, parameter and element, so that each rank can work out what all get. C99 and C++. */
#ifndef TUTTI_TESTS_MODEL_H
#define TUTTI_TESTS_MODEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"
#include "support/draw.h"
#include "support/reference.h"

enum { MOST_PARAMETERS = 16 };

typedef struct model {
    int64_t count;
    tutti_buffer values[MOST_PARAMETERS];
    tutti_buffer own[MOST_PARAMETERS]; /* gradients outside the buckets */
    const char* names[MOST_PARAMETERS];
    tutti_reducer* reducer;
    rank_context* me;
} model;

/* A whole number from -4 to 4: sums and quarters of it are exact in every dtype. */
static inline double part_of_gradient(int64_t rank, int64_t pass, int64_t parameter, int64_t at) {
    return (double)((rank * 5 + pass * 3 + parameter * 7 + at) % 9) - 4;
}

static inline void model_add(model* of, const char* name, int64_t count, tutti_dtype dtype) {
    const size_t size = (size_t)count * (size_t)tutti_dtype_size(dtype) + 1;
    const tutti_buffer value = TUTTI_BUFFER_INIT(calloc(size, 1), count, dtype);
    const tutti_buffer own = TUTTI_BUFFER_INIT(calloc(size, 1), count, dtype);
    of->names[of->count] = name;
    of->values[of->count] = value;
    of->own[of->count++] = own;
}

/* Uneven sizes, one element, none, one that is larger than a bucket; `dtypes` in turn. */
static inline model model_of(rank_context* me, const tutti_dtype* dtypes, size_t dtype_count) {
    static const int64_t counts[] = {700, 1, 0, 5000, 33, 1, 1200, 64, 257, 3};
    static const char* const names[] = {"embedding", "scale", "nothing", "fc1.weight", "fc1.bias",
                                        "gate",      "fc2",   "norm",    "fc3.weight", "fc3.bias"};
    model made;
    memset(&made, 0, sizeof made);
    made.me = me;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        model_add(&made, names[i], counts[i], dtypes[i % dtype_count]);
    }
    return made;
}

static inline void model_free(model* of) {
    tutti_reducer_release(of->reducer);
    for (int64_t i = 0; i < of->count; ++i) {
        free(of->values[i].data);
        free(of->own[i].data);
    }
}

/* Small caps, so that there are several buckets. */
static inline tutti_reducer_options small_buckets(void) {
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    options.bucket_cap_bytes = 4096;
    options.first_bucket_cap_bytes = 512;
    return options;
}

static inline tutti_status model_create(model* of, tutti_group* group,
                                        const tutti_reducer_options* options) {
    return tutti_reducer_create(group, of->values, of->names, NULL, of->count, options,
                                &of->reducer, &of->me->error);
}

/* The place of a gradient: in its bucket, or outside. */
static inline tutti_buffer gradient_of(const model* of, int64_t parameter, int is_own) {
    tutti_buffer place = of->own[parameter];
    if (!is_own) tutti_reducer_gradient(of->reducer, parameter, &place, &of->me->error);
    return place;
}

/* Adds this rank's part to what is there, or takes its place. */
static inline void compute(const model* of, int64_t parameter, int64_t pass, int is_own, int adds) {
    const tutti_buffer place = gradient_of(of, parameter, is_own);
    for (int64_t at = 0; at < place.count; ++at) {
        const double before = adds ? get_element(place.dtype, place.data, at).real : 0;
        put_element(place.dtype, place.data, at,
                    real_number(before + part_of_gradient(of->me->rank, pass, parameter, at)));
    }
}

static inline void clear(const model* of, int is_own) {
    for (int64_t i = 0; i < of->count; ++i) {
        const tutti_buffer place = gradient_of(of, i, is_own);
        memset(place.data, 0, (size_t)place.count * (size_t)tutti_dtype_size(place.dtype));
    }
}

/* This rank's order of the parameters in a pass: another one on each rank. */
static inline void shuffle(const model* of, int64_t pass, int64_t* order) {
    draw_order(41, (uint64_t)of->me->rank, (uint64_t)pass, of->count, order);
}

static inline int is_about(double value, double wanted, double tolerance) {
    return fabs(value - wanted) <= tolerance * (1 + fabs(wanted));
}

#endif
