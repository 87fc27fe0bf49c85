/* Are gradients on a device reduced as those on the CPU are, in the order of the program's stream?
 *   cuda_reducer_test BACKEND   ranks are threads; under tuttirun this process is one of them */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capi/on_ranks.h"
#include "on_devices.h"
#include "support/draw.h"

enum { PARAMETERS = 6, MOST = 5000, PASSES = 4 };
static const int64_t counts[PARAMETERS] = {700, 1, 0, MOST, 33, 1200};
static const char* const names[PARAMETERS] = {"embedding", "scale", "nothing",
                                              "fc1",       "gate",  "fc2"};

typedef struct model {
    rank_context* me;
    int32_t device;
    void* stream; /* NULL: the default one */
    void* other;  /* waits for nothing */
    tutti_buffer values[PARAMETERS];
    tutti_buffer own[PARAMETERS];
    float* computed[PARAMETERS]; /* of this pass, before they are copied to their places */
    tutti_reducer* reducer;
} model;

static size_t bytes_of(const tutti_buffer* buffer) {
    return (size_t)buffer->count * sizeof(float);
}

/* Quarters, and sums of them, are exact. */
static float part(int64_t rank, int64_t pass, int64_t parameter, int64_t at) {
    return (float)((rank * 5 + pass * 3 + parameter * 7 + at) % 9 - 4);
}

static float mean(const model* of, int64_t pass, int64_t parameter, int64_t at) {
    float sum = 0;
    for (int64_t rank = 0; rank < of->me->size; ++rank) sum += part(rank, pass, parameter, at);
    return sum / (float)of->me->size;
}

/* Whether the group has a backend for buffers of the CPU. */
static int has_cpu(void) {
    return strcmp(backend, "nccl") != 0;
}

static model model_of(rank_context* me, int has_stream) {
    model made;
    float zeros[MOST] = {0};
    memset(&made, 0, sizeof made);
    made.me = me;
    made.device = use_device(me);
    made.stream = has_stream ? cuda_make_stream() : NULL;
    made.other = cuda_make_stream();
    for (int i = 0; i < PARAMETERS; ++i) {
        void* places[3];
        for (int j = 0; j < 3; ++j) {
            places[j] = cuda_alloc((size_t)counts[i] * sizeof(float) + 1);
            cuda_copy_in(places[j], zeros, (size_t)counts[i] * sizeof(float));
        }
        made.values[i] = on_cuda(made.device, places[0], counts[i], TUTTI_FLOAT32);
        made.own[i] = on_cuda(made.device, places[1], counts[i], TUTTI_FLOAT32);
        made.computed[i] = (float*)places[2];
    }
    return made;
}

static void model_free(model* of) {
    tutti_reducer_release(of->reducer);
    cuda_wait(of->stream);
    for (int i = 0; i < PARAMETERS; ++i) {
        cuda_free(of->values[i].data);
        cuda_free(of->own[i].data);
        cuda_free(of->computed[i]);
    }
    if (of->stream != NULL) cuda_end_stream(of->stream);
    cuda_end_stream(of->other);
}

static tutti_reducer_options small_buckets(const model* of) {
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    options.bucket_cap_bytes = 4096;
    options.first_bucket_cap_bytes = 512;
    options.stream = of->stream;
    return options;
}

static void create(model* of, const tutti_reducer_options* options) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_create(me->group, of->values, names, NULL, PARAMETERS, options,
                                     &of->reducer, &me->error));
}

static tutti_buffer place_of(const model* of, int64_t parameter, int is_own) {
    tutti_buffer place = of->own[parameter];
    if (!is_own) tutti_reducer_gradient(of->reducer, parameter, &place, &of->me->error);
    return place;
}

static void prepare(model* of, int64_t pass, int64_t parameter) {
    float here[MOST];
    for (int64_t at = 0; at < counts[parameter]; ++at) {
        here[at] = part(of->me->rank, pass, parameter, at);
    }
    cuda_copy_in(of->computed[parameter], here, (size_t)counts[parameter] * sizeof(float));
}

/* What a program's kernel does: it writes the gradient on the program's stream. */
static void compute(model* of, int64_t pass, int64_t parameter, int is_own) {
    const tutti_buffer place = place_of(of, parameter, is_own);
    prepare(of, pass, parameter);
    cuda_copy(place.data, of->computed[parameter], bytes_of(&place), of->stream);
}

static void compute_and_mark(model* of, int64_t pass, int64_t parameter, int is_own) {
    rank_context* const me = of->me;
    compute(of, pass, parameter, is_own);
    RANK_OK(me, tutti_reducer_mark_ready(of->reducer, parameter,
                                         is_own ? &of->own[parameter] : NULL, &me->error));
}

/* This rank's order in a pass: another one on each rank. */
static void compute_all(model* of, int64_t pass, int is_own) {
    rank_context* const me = of->me;
    int64_t order[PARAMETERS];
    draw_order(43, (uint64_t)me->rank, (uint64_t)pass, PARAMETERS, order);
    for (int i = 0; i < PARAMETERS && !me->failed; ++i)
        compute_and_mark(of, pass, order[i], is_own);
}

/* Outside the buckets, of a pass that is prepared: nothing here waits for the stream. */
static void copy_and_mark_all(model* of) {
    rank_context* const me = of->me;
    for (int i = PARAMETERS - 1; i >= 0 && !me->failed; --i) {
        cuda_copy(of->own[i].data, of->computed[i], bytes_of(&of->own[i]), of->stream);
        RANK_OK(me, tutti_reducer_mark_ready(of->reducer, i, &of->own[i], &me->error));
    }
}

/* Read as the program's next kernel would: on its stream. Without one, all is there already. */
static void expect_parameter(model* of, int64_t pass, int64_t parameter, int is_own, float factor,
                             float tolerance) {
    rank_context* const me = of->me;
    float here[MOST];
    const tutti_buffer place = place_of(of, parameter, is_own);
    void* const reader = of->stream != NULL ? of->stream : of->other;
    cuda_copy(of->computed[parameter], place.data, bytes_of(&place), reader);
    cuda_wait(reader);
    cuda_copy_out(here, of->computed[parameter], bytes_of(&place));
    const float allowed = tolerance + 1e-5F; /* NCCL rounds each part of a mean */
    int64_t right = 0;
    while (right < place.count &&
           fabsf(here[right] - factor * mean(of, pass, parameter, right)) <= allowed) {
        ++right;
    }
    if (right < place.count) {
        fprintf(stderr, "rank %d, pass %d: %s[%d] is %g, not %g\n", (int)me->rank, (int)pass,
                names[parameter], (int)right, here[right],
                factor * mean(of, pass, parameter, right));
    }
    RANK_EXPECT(me, right == place.count);
}

static void expect_means(model* of, int64_t pass, int is_own, float factor, float tolerance) {
    for (int64_t i = 0; i < PARAMETERS && !of->me->failed; ++i) {
        expect_parameter(of, pass, i, is_own, factor, tolerance);
    }
}

/* A pass as each program does it. */
static void pass_of(model* of, int64_t pass, int is_own, float tolerance) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_begin(of->reducer, 1, &me->error));
    compute_all(of, pass, is_own);
    RANK_OK(me, tutti_reducer_finish(of->reducer, NULL, &me->error));
    expect_means(of, pass, is_own, 1, tolerance);
}

static void all_ranks_get_the_means(rank_context* me) {
    for (int way = 0; way < 4 && !me->failed; ++way) {
        model of = model_of(me, way & 1);
        const tutti_reducer_options options = small_buckets(&of);
        create(&of, &options);
        for (int64_t pass = 0; pass < PASSES && !me->failed; ++pass) {
            if (pass == 2) { /* one that only accumulates: the program's own affair */
                RANK_OK(me, tutti_reducer_begin(of.reducer, 0, &me->error));
                compute_all(&of, 9, way >> 1);
                RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
                cuda_wait(of.stream); /* what it computed is written anew */
            }
            pass_of(&of, pass, way >> 1, 0);
        }
        RANK_EXPECT(me, tutti_reducer_generation(of.reducer) <= 1);
        model_free(&of);
    }
}

/* Nothing is done before the stream has come to it, and a stream can wait for the end. */
static void buckets_wait_for_the_programs_stream(rank_context* me) {
    model of = model_of(me, 1);
    const tutti_reducer_options options = small_buckets(&of);
    create(&of, &options);
    for (int64_t pass = 0; pass < 2 && !me->failed; ++pass) {
        gate* const closed = gate_make();
        tutti_work* work = NULL;
        int32_t completed = 1;
        for (int i = 0; i < PARAMETERS; ++i) prepare(&of, pass, i);
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        gate_close(closed, of.stream);
        copy_and_mark_all(&of);
        RANK_OK(me, tutti_reducer_finish(of.reducer, &work, &me->error));
        RANK_OK(me, tutti_work_is_completed(work, &completed, &me->error));
        RANK_EXPECT(me, !completed);
        gate_open(closed);
        if (pass == 0) {
            RANK_OK(me, tutti_work_synchronize(work, of.stream, &me->error));
        } else {
            RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        }
        expect_means(&of, pass, 1, 1, 0);
        RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        tutti_work_release(work);
        gate_end(closed);
    }
    model_free(&of);
}

/* The next one begins when this is enqueued, though another stream waits for its results. */
static void passes_follow_each_other(rank_context* me) {
    model of = model_of(me, 1);
    const tutti_reducer_options options = small_buckets(&of);
    create(&of, &options);
    for (int64_t pass = 0; pass < 3 && !me->failed; ++pass) {
        tutti_work* work = NULL;
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        compute_all(&of, pass, 0);
        RANK_OK(me, tutti_reducer_finish(of.reducer, &work, &me->error));
        RANK_OK(me, tutti_work_synchronize(work, of.other, &me->error));
        tutti_work_release(work);
        cuda_wait(of.stream); /* what it computed is written anew */
    }
    RANK_OK(me, tutti_reducer_begin(of.reducer, 0, &me->error));
    expect_means(&of, 2, 0, 1, 0);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    model_free(&of);
}

static void unused_parameters_are_found(rank_context* me) {
    for (int is_static = 0; is_static < 2 && !me->failed; ++is_static) {
        model of = model_of(me, 1);
        tutti_reducer_options options = small_buckets(&of);
        options.find_unused_parameters = 1;
        options.static_graph = (uint32_t)is_static;
        create(&of, &options);
        for (int64_t pass = 0; pass < 3 && !me->failed; ++pass) {
            RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
            for (int64_t i = 0; i < PARAMETERS && !me->failed; ++i) {
                if (i != 4) compute_and_mark(&of, pass, i, 1); /* no rank uses it */
            }
            RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
            for (int64_t i = 0; i < PARAMETERS && !me->failed; ++i) {
                if (i != 4) expect_parameter(&of, pass, i, 1, 1, 0);
            }
            expect_parameter(&of, 0, 4, 1, 0, 0); /* as it was */
            RANK_EXPECT(me, is_static || tutti_reducer_is_used(of.reducer, 4) == 0);
            RANK_EXPECT(me, is_static || tutti_reducer_is_used(of.reducer, 3) == 1);
        }
        model_free(&of);
    }
}

/* The first pass tells the order of the buckets; what was in them moves along. */
static void gradients_move_with_their_buckets(rank_context* me) {
    model of = model_of(me, 1);
    const tutti_reducer_options options = small_buckets(&of);
    create(&of, &options);
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    for (int64_t i = 0; i < PARAMETERS && !me->failed; ++i) compute_and_mark(&of, 0, i, 0);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    RANK_EXPECT(me, tutti_reducer_generation(of.reducer) == 0);
    RANK_OK(me, tutti_reducer_begin(of.reducer, 0, &me->error));
    RANK_EXPECT(me, tutti_reducer_generation(of.reducer) == 1);
    expect_means(&of, 0, 0, 1, 0);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    pass_of(&of, 1, 0, 0);
    model_free(&of);
}

static void buckets_come_one_after_the_other(rank_context* me) {
    for (int has_stream = 0; has_stream < 2 && !me->failed; ++has_stream) {
        model of = model_of(me, has_stream);
        const tutti_reducer_options options = small_buckets(&of);
        tutti_work* work = NULL;
        int64_t seen = 0;
        create(&of, &options);
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        compute_all(&of, 0, 0);
        RANK_OK(me, tutti_reducer_finish(of.reducer, &work, &me->error));
        for (;;) {
            tutti_bucket bucket = TUTTI_BUCKET_INIT;
            RANK_OK(me, tutti_reducer_next_bucket(of.reducer, &bucket, &me->error));
            if (bucket.index < 0) break;
            RANK_EXPECT(me, bucket.gradients.device_type == TUTTI_CUDA);
            RANK_EXPECT(me, bucket.gradients.device_index == of.device);
            for (int64_t i = 0; i < bucket.parameter_count; ++i, ++seen) {
                expect_parameter(&of, 0, bucket.parameters[i], 0, 1, 0);
            }
        }
        RANK_EXPECT(me, seen == PARAMETERS);
        RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        tutti_work_release(work);
        model_free(&of);
    }
}

static tutti_status sum_on_its_stream(tutti_group* group, const tutti_bucket* bucket, void* user,
                                      tutti_error* why) {
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.stream = bucket->stream;
    ++*(int*)user;
    return tutti_all_reduce(group, NULL, &bucket->gradients, TUTTI_SUM, &options, NULL, why);
}

static void a_hook_works_on_the_buckets_stream(rank_context* me) {
    int calls = 0;
    model of = model_of(me, 1);
    const tutti_reducer_options options = small_buckets(&of);
    create(&of, &options);
    RANK_OK(me, tutti_reducer_set_hook(of.reducer, sum_on_its_stream, &calls, NULL, &me->error));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    compute_all(&of, 0, 1);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    expect_means(&of, 0, 1, (float)me->size, 0);
    RANK_EXPECT(me, calls > 1);
    model_free(&of);
}

static void some_reductions_need_the_cpu(rank_context* me) {
    model of = model_of(me, 1);
    tutti_reducer_options options = small_buckets(&of);
    RANK_STATUS(me,
                tutti_reducer_create(me->group, of.values, names, NULL, PARAMETERS, &options,
                                     &of.reducer, &me->error),
                TUTTI_OK);
    RANK_STATUS(me,
                tutti_reducer_set_compression(of.reducer, TUTTI_COMPRESSION_FLOAT16, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "compression, beside gradients on cuda:");
    RANK_OK(me, tutti_reducer_set_compression(of.reducer, TUTTI_COMPRESSION_NONE, &me->error));
    float on_cpu[1] = {0};
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(on_cpu, 1, TUTTI_FLOAT32);
    RANK_STATUS(me, tutti_reducer_sync_buffers(of.reducer, &buffer, 1, 0, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "a buffer on the CPU, beside gradients on cuda:");
    pass_of(&of, 0, 1, 0);
    tutti_reducer_release(of.reducer);
    of.reducer = NULL;
    options.predivide = 2;
    RANK_STATUS(me,
                tutti_reducer_create(me->group, of.values, names, NULL, PARAMETERS, &options,
                                     &of.reducer, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "options.predivide, beside gradients on cuda:");
    model_free(&of);
}

static void some_reductions_go_through_the_cpu(rank_context* me) {
    if (!has_cpu()) {
        some_reductions_need_the_cpu(me);
        return;
    }
    model of = model_of(me, 1);
    tutti_reducer_options options = small_buckets(&of);
    options.predivide = 2;
    create(&of, &options);
    pass_of(&of, 0, 1, 0);
    for (tutti_compression kind = TUTTI_COMPRESSION_FLOAT16;
         kind <= TUTTI_COMPRESSION_QUANTISED && !me->failed; ++kind) {
        RANK_OK(me, tutti_reducer_set_compression(of.reducer, kind, &me->error));
        pass_of(&of, kind, 1, kind == TUTTI_COMPRESSION_QUANTISED ? 8.F / 255 : 0x1p-5F);
    }
    RANK_OK(me, tutti_reducer_set_compression(of.reducer, TUTTI_COMPRESSION_NONE, &me->error));
    pass_of(&of, 5, 1, 0);
    model_free(&of);
}

static void values_and_buffers_come_from_one_rank(rank_context* me) {
    for (int has_stream = 0; has_stream < 2 && !me->failed; ++has_stream) {
        model of = model_of(me, has_stream);
        const tutti_reducer_options options = small_buckets(&of);
        float here[MOST], on_cpu[3] = {0};
        const int32_t last = me->size - 1;
        for (int at = 0; at < MOST; ++at) here[at] = (float)me->rank + 10;
        for (int i = 0; i < PARAMETERS; ++i) {
            cuda_copy_in(of.values[i].data, here, bytes_of(&of.values[i]));
            cuda_copy_in(of.own[i].data, here, bytes_of(&of.own[i]));
        }
        on_cpu[1] = (float)me->rank;
        create(&of, &options);
        const tutti_buffer buffers[] = {of.own[3], of.own[0],
                                        TUTTI_BUFFER_INIT(on_cpu, 3, TUTTI_FLOAT32)};
        const int64_t count = has_cpu() ? 3 : 2;
        RANK_OK(me, tutti_reducer_sync_buffers(of.reducer, buffers, count, last, &me->error));
        cuda_wait(of.stream);
        for (int i = 0; i < PARAMETERS && !me->failed; ++i) {
            const tutti_buffer* const of_rank_0 = &of.values[i];
            cuda_copy_out(here, of_rank_0->data, bytes_of(of_rank_0));
            RANK_EXPECT(me, of_rank_0->count == 0 || here[of_rank_0->count - 1] == 10);
        }
        cuda_copy_out(here, of.own[3].data, bytes_of(&of.own[3]));
        RANK_EXPECT(me, here[0] == (float)last + 10 && here[MOST - 1] == (float)last + 10);
        RANK_EXPECT(me, count == 2 || on_cpu[1] == (float)last);
        model_free(&of);
    }
}

/* A reducer may go while its device has not come so far, with a complete bucket and without one. */
/* The next reducer, while the one before ends in the background; then the gate is open. NCCL waits
 * for the whole device while it makes a communicator, but its double does not. */
static void create_behind(model* of, const tutti_reducer_options* options, gate* closed) {
    const int opens_first =
        strstr(backend, "nccl") != NULL && getenv("TUTTI_FAKE_CUDA_SCHEDULE") == NULL;
    if (opens_first) gate_open(closed);
    create(of, options);
    if (!opens_first) gate_open(closed);
}

static void a_reducer_is_released_in_a_pass(rank_context* me) {
    for (int way = 0; way < 4 && !me->failed; ++way) {
        model of = model_of(me, way & 1);
        tutti_reducer_options options = small_buckets(&of);
        gate* const closed = gate_make();
        options.no_initial_broadcast = 1;
        create(&of, &options);
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        gate_close(closed, of.stream);
        for (int i = PARAMETERS - 1 - (way >> 1); i >= PARAMETERS - 2; --i) {
            const int is_own = way >> 1;
            const tutti_buffer place = place_of(&of, i, is_own);
            cuda_copy(place.data, of.computed[i], bytes_of(&place), of.stream);
            RANK_OK(me, tutti_reducer_mark_ready(of.reducer, i, is_own ? &of.own[i] : NULL,
                                                 &me->error));
        }
        tutti_reducer_release(of.reducer);
        create_behind(&of, &options, closed);
        cuda_wait(of.stream);
        pass_of(&of, 0, 1, 0);
        model_free(&of);
        gate_end(closed);
    }
}

/* Some of its buckets are reduced, perhaps, and others wait. */
static void a_pass_that_was_cut_is_repeated_in_another_group(rank_context* me) {
    for (int way = 0; way < 4 && !me->failed; ++way) {
        model of = model_of(me, way & 1);
        const tutti_reducer_options options = small_buckets(&of);
        tutti_group* other = NULL;
        create(&of, &options);
        for (int64_t pass = 0; pass < 2 && !me->failed; ++pass) pass_of(&of, pass, way >> 1, 0);
        RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, NULL, &other, &me->error));
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        for (int64_t i = PARAMETERS - 1; i > 2 && !me->failed; --i) {
            compute_and_mark(&of, 2, i, way >> 1);
        }
        RANK_OK(me, tutti_monitored_barrier(me->group, 0, NULL, &me->error)); /* all are in it */
        RANK_OK(me, tutti_reducer_shrink(of.reducer, other, &me->error));
        cuda_wait(of.stream); /* what it computed is written anew */
        for (int64_t i = 0; i < PARAMETERS && !me->failed; ++i) {
            expect_parameter(&of, 0, i, 0, 0, 0);
        }
        for (int64_t pass = 3; pass < 6 && !me->failed; ++pass) pass_of(&of, pass, way >> 1, 0);
        model_free(&of);
        RANK_OK(me, tutti_destroy_process_group(other, NULL, &me->error));
        tutti_group_release(other);
    }
}

/* Where nothing waits for the device: the reducer may go before its results are there. */
static void results_come_after_the_reducer_is_released(rank_context* me) {
    if (strstr(backend, "nccl") == NULL) return;
    model of = model_of(me, 1);
    tutti_reducer_options options = small_buckets(&of);
    gate* const closed = gate_make();
    options.keep_buckets = 1;
    create(&of, &options);
    pass_of(&of, 0, 1, 0);
    for (int i = 0; i < PARAMETERS; ++i) prepare(&of, 1, i);
    gate_close(closed, of.stream);
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    copy_and_mark_all(&of);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    tutti_reducer_release(of.reducer);
    of.reducer = NULL;
    create_behind(&of, &options, closed);
    expect_means(&of, 1, 1, 1, 0);
    model_free(&of);
    gate_end(closed);
}

static void wrong_places_are_refused(rank_context* me) {
    model of = model_of(me, 1);
    tutti_reducer_options options = small_buckets(&of);
    float here[3] = {0};
    tutti_buffer mixed[] = {of.values[0], TUTTI_BUFFER_INIT(here, 3, TUTTI_FLOAT32)};
    RANK_STATUS(
        me,
        tutti_reducer_create(me->group, mixed, NULL, NULL, 2, &options, &of.reducer, &me->error),
        TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "parameters[1] is on cpu and parameters[0] on cuda:");
    RANK_REFUSES(me,
                 tutti_reducer_create(me->group, &mixed[1], NULL, NULL, 1, &options, &of.reducer,
                                      &me->error),
                 "options.stream is given, and the parameters are on the CPU");
    create(&of, &options);
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here, counts[1], TUTTI_FLOAT32);
    RANK_STATUS(me, tutti_reducer_mark_ready(of.reducer, 1, &on_cpu, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "gradient is on cpu, and parameter 1 \"scale\" on cuda:");
    compute_all(&of, 0, 1);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    expect_means(&of, 0, 1, 1, 0);
    model_free(&of);
}

static void ranks_differ_in_the_type_of_device(rank_context* me) {
    model of = model_of(me, 0);
    float here[3] = {0};
    const tutti_buffer on_cpu = TUTTI_BUFFER_INIT(here, 1, TUTTI_FLOAT32);
    RANK_STATUS(me,
                tutti_reducer_create(me->group, me->rank == 1 ? &on_cpu : &of.values[1], NULL, NULL,
                                     1, NULL, &of.reducer, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "parameter 0 of 1 float32 on cuda");
    RANK_SAYS(me, "parameter 0 of 1 float32 on cpu");
    model_free(&of);
}

static const rank_function functions[] = {
    all_ranks_get_the_means,
    buckets_wait_for_the_programs_stream,
    passes_follow_each_other,
    unused_parameters_are_found,
    gradients_move_with_their_buckets,
    buckets_come_one_after_the_other,
    a_hook_works_on_the_buckets_stream,
    some_reductions_go_through_the_cpu,
    values_and_buffers_come_from_one_rank,
    a_reducer_is_released_in_a_pass,
    a_pass_that_was_cut_is_repeated_in_another_group,
    results_come_after_the_reducer_is_released,
    wrong_places_are_refused,
    ranks_differ_in_the_type_of_device,
};

RANK_TEST(all_ranks_get_the_means, 3)
RANK_TEST(buckets_wait_for_the_programs_stream, 2)
RANK_TEST(passes_follow_each_other, 2)
RANK_TEST(unused_parameters_are_found, 2)
RANK_TEST(gradients_move_with_their_buckets, 2)
RANK_TEST(buckets_come_one_after_the_other, 2)
RANK_TEST(a_hook_works_on_the_buckets_stream, 2)
RANK_TEST(some_reductions_go_through_the_cpu, 2)
RANK_TEST(values_and_buffers_come_from_one_rank, 3)
RANK_TEST(a_reducer_is_released_in_a_pass, 2)
RANK_TEST(a_pass_that_was_cut_is_repeated_in_another_group, 2)
RANK_TEST(results_come_after_the_reducer_is_released, 2)
RANK_TEST(wrong_places_are_refused, 2)
RANK_TEST(ranks_differ_in_the_type_of_device, 2)

/* As one rank of a job. */
static int be_a_rank(void) {
    rank_context me;
    memset(&me, 0, sizeof me);
    tutti_error_init(&me.error, sizeof me.error);
    if (tutti_init_process_group(backend, "env://", NULL, -1, -1, NULL, &me.error) != TUTTI_OK) {
        fprintf(stderr, "%s\n", me.error.message);
        return 1;
    }
    me.group = TUTTI_GROUP_WORLD;
    me.rank = tutti_get_rank(TUTTI_GROUP_WORLD);
    me.size = tutti_get_world_size(TUTTI_GROUP_WORLD);
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !me.failed; ++i) {
        functions[i](&me);
    }
    tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &me.error);
    return me.failed;
}

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(all_ranks_get_the_means_on_ranks),
        TEST(buckets_wait_for_the_programs_stream_on_ranks),
        TEST(passes_follow_each_other_on_ranks),
        TEST(unused_parameters_are_found_on_ranks),
        TEST(gradients_move_with_their_buckets_on_ranks),
        TEST(buckets_come_one_after_the_other_on_ranks),
        TEST(a_hook_works_on_the_buckets_stream_on_ranks),
        TEST(some_reductions_go_through_the_cpu_on_ranks),
        TEST(values_and_buffers_come_from_one_rank_on_ranks),
        TEST(a_reducer_is_released_in_a_pass_on_ranks),
        TEST(a_pass_that_was_cut_is_repeated_in_another_group_on_ranks),
        TEST(results_come_after_the_reducer_is_released_on_ranks),
        TEST(wrong_places_are_refused_on_ranks),
        TEST(ranks_differ_in_the_type_of_device_on_ranks),
    };
    const int skipped = without_device();
    if (skipped != 0) return skipped;
    if (count > 1) backend = arguments[1];
    if (getenv("RANK") != NULL) return be_a_rank();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
