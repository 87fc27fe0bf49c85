/* Do ranks that make different reducers, or use one wrongly, hear what is wrong? The program's
 * argument names the backend. */
#include "model.h"

static const tutti_dtype floats[] = {TUTTI_FLOAT32};

static void expect_difference(model* of, const tutti_reducer_options* options, const char* one,
                              const char* other) {
    rank_context* const me = of->me;
    RANK_STATUS(me, model_create(of, me->group, options), TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "reducer_create on group");
    RANK_SAYS(me, one);
    RANK_SAYS(me, other);
    RANK_EXPECT(me, me->error.rank == 1 && of->reducer == NULL);
}

static void models_that_differ_are_shown_to_all_ranks(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_reducer_options options = small_buckets();
    const int differs = me->rank == 1;
    of.values[3].count -= differs;
    expect_difference(&of, NULL, "parameter 3 \"fc1.weight\" of 4999 float32",
                      "parameter 3 \"fc1.weight\" of 5000 float32");
    of.values[3].count += differs;
    of.values[4].dtype = differs ? TUTTI_FLOAT16 : TUTTI_FLOAT32;
    expect_difference(&of, NULL, "\"fc1.bias\" of 33 float16", "\"fc1.bias\" of 33 float32");
    of.values[4].dtype = TUTTI_FLOAT32;
    of.names[9] = differs ? "fc3.b" : "fc3.bias";
    expect_difference(&of, NULL, "parameter 9 \"fc3.b\"", "parameter 9 \"fc3.bias\"");
    of.names[9] = "fc3.bias";
    of.count -= differs;
    expect_difference(&of, NULL, "9 parameters", "10 parameters");
    of.count += differs;
    options.static_graph = (uint32_t)differs;
    expect_difference(&of, &options, "static_graph 1", "static_graph 0");
    RANK_OK(me, model_create(&of, me->group, NULL));
    model_free(&of);
}
RANK_TEST(models_that_differ_are_shown_to_all_ranks, 3)

/* So many that ranks do not send all of it at once. */
static void a_difference_far_behind_is_found(rank_context* me) {
    enum { count = 5000 };
    static const char name[] = "module.layers.transformer.attention.output.projection.weight";
    static float value[count]; /* the ranks are threads, and send it to each other unchanged */
    tutti_buffer* const values = (tutti_buffer*)calloc(count, sizeof *values);
    const char** const names = (const char**)calloc(count, sizeof *names);
    tutti_reducer* reducer = NULL;
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    options.no_initial_broadcast = 1;
    for (int i = 0; i < count; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(&value[i], 1, TUTTI_FLOAT32);
        values[i] = one;
        names[i] = name;
    }
    if (me->rank == 1) names[4321] = "bias";
    const tutti_status status =
        tutti_reducer_create(me->group, values, names, NULL, count, &options, &reducer, &me->error);
    free(values);
    free((void*)names);
    RANK_EXPECT(me, status == TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "parameter 4321 \"bias\"");
}
RANK_TEST(a_difference_far_behind_is_found, 2)

static void an_argument_that_one_rank_has_wrong_ends_the_call_of_all(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    if (me->rank == 1) options.keep_micro_batches = 1;
    const tutti_status status = model_create(&of, me->group, &options);
    RANK_EXPECT(me, status == (me->rank == 1 ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_MISMATCH));
    RANK_SAYS(me, "options.keep_micro_batches needs a group that was made with reproducible");
    RANK_OK(me, model_create(&of, me->group, NULL));
    model_free(&of);
}
RANK_TEST(an_argument_that_one_rank_has_wrong_ends_the_call_of_all, 3)

static void arguments_that_no_reducer_can_have_are_named(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    int64_t order[MOST_PARAMETERS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8};
    RANK_REFUSES(me,
                 tutti_reducer_create(me->group, of.values, NULL, order, of.count, NULL,
                                      &of.reducer, &me->error),
                 "order[9] is 8; it must have each index from 0 to 9 once");
    RANK_REFUSES(
        me,
        tutti_reducer_create(me->group, of.values, NULL, NULL, 0, NULL, &of.reducer, &me->error),
        "count is 0; a reducer has at least one parameter");
    options.bucket_cap_bytes = -1;
    RANK_REFUSES(me, model_create(&of, me->group, &options),
                 "options.bucket_cap_bytes is -1; it must be 0 or more");
    options.bucket_cap_bytes = 0;
    options.sum = 2;
    RANK_REFUSES(me, model_create(&of, me->group, &options), "options.sum is 2; it must be 0 or 1");
    options.sum = 0;
    options.predivide = -2;
    RANK_REFUSES(me, model_create(&of, me->group, &options), "options.predivide is -2");
    void* const before = of.values[6].data;
    of.values[6].data = of.values[3].data;
    RANK_REFUSES(me, model_create(&of, me->group, NULL), "parameters[3] and parameters[6] overlap");
    of.values[6].data = before;
    of.names[2] = NULL;
    RANK_REFUSES(me, model_create(&of, me->group, NULL), "names[2] is NULL");
    model_free(&of);
}
RANK_TEST(arguments_that_no_reducer_can_have_are_named, 1)

static void calls_out_of_order_are_refused(rank_context* me) {
    model of = model_of(me, floats, 1);
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    const int64_t index = 0;
    RANK_OK(me, model_create(&of, me->group, NULL));
    RANK_REFUSES(me, tutti_reducer_mark_ready(of.reducer, 0, NULL, &me->error),
                 "no pass has begun; tutti_reducer_begin begins one");
    RANK_REFUSES(me, tutti_reducer_finish(of.reducer, NULL, &me->error), "no pass has begun");
    RANK_REFUSES(me, tutti_reducer_next_bucket(of.reducer, &bucket, &me->error),
                 "no pass has begun");
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    RANK_REFUSES(me, tutti_reducer_begin(of.reducer, 1, &me->error),
                 "a pass has begun and not ended");
    RANK_REFUSES(me, tutti_reducer_set_compression(of.reducer, 0, &me->error),
                 "a pass has begun and not ended");
    RANK_OK(me, tutti_reducer_mark_ready(of.reducer, 0, NULL, &me->error));
    RANK_REFUSES(me, tutti_reducer_mark_ready(of.reducer, 0, NULL, &me->error),
                 "parameter 0 \"embedding\" was marked before in this pass");
    RANK_REFUSES(me, tutti_reducer_mark_ready(of.reducer, 10, NULL, &me->error),
                 "index is 10; the reducer has 10 parameters");
    RANK_REFUSES(me, tutti_reducer_mark_ready(of.reducer, -1, NULL, &me->error), "index is -1");
    RANK_REFUSES(me, tutti_reducer_mark_ready(of.reducer, 3, &of.own[4], &me->error),
                 "gradient is 33 float32, and parameter 3 \"fc1.weight\" is 5000 float32");
    RANK_REFUSES(me, tutti_reducer_mark_unused(of.reducer, &index, 1, &me->error),
                 "options.find_unused_parameters is 0");
    RANK_REFUSES(me, tutti_reducer_get_bucket(of.reducer, 99, &bucket, &me->error),
                 "index is 99; the reducer has");
    bucket.struct_size = 0;
    RANK_REFUSES(me, tutti_reducer_get_bucket(of.reducer, 0, &bucket, &me->error),
                 "out_bucket.struct_size is 0; initialise the bucket");
    RANK_REFUSES(me, tutti_reducer_set_compression(of.reducer, 77, &me->error),
                 "compression is 77; there is no such one");
    RANK_EXPECT(me, tutti_reducer_is_used(of.reducer, 10) == -1);
    model_free(&of); /* within a pass */
}
RANK_TEST(calls_out_of_order_are_refused, 1)

static void fill(const tutti_buffer* buffer, double value) {
    for (int64_t at = 0; at < buffer->count; ++at) {
        put_element(buffer->dtype, buffer->data, at, real_number(value));
    }
}

static int is_full_of(const tutti_buffer* buffer, double value) {
    for (int64_t at = 0; at < buffer->count; ++at) {
        if (get_element(buffer->dtype, buffer->data, at).real != value) return 0;
    }
    return 1;
}

static void ranks_begin_with_the_parameters_of_rank_0(rank_context* me) {
    const tutti_dtype dtypes[] = {TUTTI_FLOAT32, TUTTI_FLOAT64};
    model of = model_of(me, dtypes, 2);
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    for (int64_t i = 0; i < of.count; ++i) fill(&of.values[i], me->rank * 100 + (double)i);
    options.no_initial_broadcast = 1;
    RANK_OK(me, model_create(&of, me->group, &options));
    tutti_reducer_release(of.reducer);
    for (int64_t i = 0; i < of.count; ++i) {
        RANK_EXPECT(me, is_full_of(&of.values[i], me->rank * 100 + (double)i));
    }
    RANK_OK(me, model_create(&of, me->group, NULL));
    for (int64_t i = 0; i < of.count; ++i) RANK_EXPECT(me, is_full_of(&of.values[i], (double)i));
    for (int64_t i = 0; i < of.count; ++i) fill(&of.own[i], me->rank);
    RANK_OK(me, tutti_reducer_sync_buffers(of.reducer, of.own, of.count, 1, &me->error));
    for (int64_t i = 0; i < of.count; ++i) RANK_EXPECT(me, is_full_of(&of.own[i], 1));
    RANK_OK(me, tutti_reducer_sync_buffers(of.reducer, NULL, 0, 0, &me->error));
    RANK_REFUSES(me, tutti_reducer_sync_buffers(of.reducer, of.own, 1, 3, &me->error),
                 "group_src is 3; the group has 3 ranks");
    model_free(&of);
}
RANK_TEST(ranks_begin_with_the_parameters_of_rank_0, 3)

/* The others wait for its gradients. */
static void a_rank_that_releases_its_reducer_is_named(rank_context* me) {
    model of = model_of(me, floats, 1);
    RANK_OK(me, model_create(&of, me->group, NULL));
    if (me->rank != 2) {
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        for (int64_t i = 0; i < of.count; ++i) {
            const tutti_status marked = tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error);
            RANK_EXPECT(me, marked == TUTTI_OK || marked == TUTTI_ERR_PEER_LOST);
        }
        RANK_STATUS(me, tutti_reducer_finish(of.reducer, NULL, &me->error), TUTTI_ERR_PEER_LOST);
        RANK_SAYS(me, "rank 2");
    }
    model_free(&of);
}
RANK_TEST(a_rank_that_releases_its_reducer_is_named, 3)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(models_that_differ_are_shown_to_all_ranks_on_ranks),
        TEST(a_difference_far_behind_is_found_on_ranks),
        TEST(an_argument_that_one_rank_has_wrong_ends_the_call_of_all_on_ranks),
        TEST(arguments_that_no_reducer_can_have_are_named_on_ranks),
        TEST(calls_out_of_order_are_refused_on_ranks),
        TEST(ranks_begin_with_the_parameters_of_rank_0_on_ranks),
        TEST(a_rank_that_releases_its_reducer_is_named_on_ranks),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
