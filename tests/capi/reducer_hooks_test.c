/* Do buckets go through what the program chose: its own function, fewer bytes, exact sums; and
 * does it hear of each bucket? The program's argument names the backend. */
#include "model.h"

static const tutti_dtype floats[] = {TUTTI_FLOAT32};
static const tutti_dtype mixed[] = {TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_FLOAT16};

static void mark_all(const model* of, int64_t pass) {
    rank_context* const me = of->me;
    RANK_OK(me, tutti_reducer_begin(of->reducer, 1, &me->error));
    for (int64_t i = of->count - 1; i >= 0; --i) {
        compute(of, i, pass, 0, 0);
        RANK_OK(me, tutti_reducer_mark_ready(of->reducer, i, NULL, &me->error));
    }
}

static double mean_of(const model* of, int64_t pass, int64_t parameter, int64_t at) {
    double sum = 0;
    for (int64_t rank = 0; rank < of->me->size; ++rank) {
        sum += part_of_gradient(rank, pass, parameter, at);
    }
    return sum / of->me->size;
}

static void expect_means(const model* of, int64_t pass, double factor, double tolerance) {
    rank_context* const me = of->me;
    for (int64_t i = 0; i < of->count; ++i) {
        const tutti_buffer place = gradient_of(of, i, 0);
        for (int64_t at = 0; at < place.count; ++at) {
            RANK_EXPECT(me, is_about(get_element(place.dtype, place.data, at).real,
                                     factor * mean_of(of, pass, i, at), tolerance));
        }
    }
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

static void buckets_come_one_after_the_other(rank_context* me) {
    model of = model_of(me, mixed, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int64_t pass = 0; pass < 4; ++pass) {
        tutti_work* work = NULL;
        tutti_bucket bucket = TUTTI_BUCKET_INIT;
        mark_all(&of, pass);
        RANK_OK(me, tutti_reducer_finish(of.reducer, &work, &me->error));
        int64_t seen = 0;
        for (int32_t index = 0;; ++index) {
            RANK_OK(me, tutti_reducer_next_bucket(of.reducer, &bucket, &me->error));
            if (bucket.index < 0) break;
            RANK_EXPECT(me, bucket.index == index && index < bucket.bucket_count);
            for (int64_t i = 0; i < bucket.parameter_count; ++i, ++seen) {
                const int64_t parameter = bucket.parameters[i];
                if (bucket.counts[i] == 0) continue;
                RANK_EXPECT(me, get_element(bucket.gradients.dtype, bucket.gradients.data,
                                            bucket.offsets[i])
                                        .real == mean_of(&of, pass, parameter, 0));
                RANK_EXPECT(me, tutti_reducer_is_used(of.reducer, parameter) == 1);
            }
        }
        RANK_EXPECT(me, seen == of.count);
        RANK_OK(me, tutti_work_wait(work, 0, &me->error));
        RANK_EXPECT(me, strcmp(tutti_work_get_op_type(work), "reducer_finish") == 0);
        tutti_work_release(work);
    }
    RANK_OK(me, tutti_reducer_begin(of.reducer, 0, &me->error));
    tutti_bucket none = TUTTI_BUCKET_INIT;
    RANK_OK(me, tutti_reducer_next_bucket(of.reducer, &none, &me->error));
    RANK_EXPECT(me, none.index == -1 && none.parameters == NULL);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    model_free(&of);
}
RANK_TEST(buckets_come_one_after_the_other, 4)

typedef struct hooked {
    int32_t calls, releases, next, fails_at;
} hooked;

/* The sum, times two. */
static tutti_status twice_the_sum(tutti_group* group, const tutti_bucket* bucket, void* user,
                                  tutti_error* said) {
    hooked* const mine = (hooked*)user;
    ++mine->calls;
    if (bucket->index == mine->fails_at) {
        snprintf(said->message, sizeof said->message, "no wish to go on");
        return TUTTI_ERR_BACKEND;
    }
    mine->next = bucket->is_last ? 0 : mine->next + 1;
    const tutti_status status =
        tutti_all_reduce(group, NULL, &bucket->gradients, TUTTI_SUM, NULL, NULL, said);
    for (int64_t at = 0; at < bucket->gradients.count; ++at) {
        const double sum = get_element(bucket->gradients.dtype, bucket->gradients.data, at).real;
        put_element(bucket->gradients.dtype, bucket->gradients.data, at, real_number(2 * sum));
    }
    return status;
}

static void count_release(void* user) {
    ++((hooked*)user)->releases;
}

static void a_hook_takes_the_place_of_the_reduction(rank_context* me) {
    model of = model_of(me, floats, 1);
    const tutti_reducer_options options = small_buckets();
    /* The last one is released in the background, with the reducer. */
    static hooked first[2], last[2];
    hooked *const mine = &first[me->rank], *const other = &last[me->rank];
    mine->fails_at = -1;
    other->fails_at = me->rank == 1 ? 1 : -1;
    tutti_bucket bucket = TUTTI_BUCKET_INIT;
    RANK_OK(me, model_create(&of, me->group, &options));
    RANK_OK(me, tutti_reducer_set_hook(of.reducer, twice_the_sum, mine, count_release, &me->error));
    mark_all(&of, 0);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    expect_means(&of, 0, 2.0 * me->size, 0);
    RANK_OK(me, tutti_reducer_get_bucket(of.reducer, 0, &bucket, &me->error));
    RANK_EXPECT(me, mine->calls == bucket.bucket_count && mine->next == 0 && mine->releases == 0);
    RANK_OK(me, tutti_reducer_set_hook(of.reducer, NULL, NULL, NULL, &me->error));
    RANK_EXPECT(me, mine->releases == 1);
    mark_all(&of, 1);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    expect_means(&of, 1, 1, 0);
    /* One that fails on one rank fails the reducers of all. */
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size);
    RANK_OK(me,
            tutti_reducer_set_hook(of.reducer, twice_the_sum, other, count_release, &me->error));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    for (int64_t i = 0; i < of.count; ++i) {
        const tutti_status marked = tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error);
        RANK_EXPECT(me, marked == TUTTI_OK || marked == TUTTI_ERR_BACKEND);
    }
    RANK_STATUS(me, tutti_reducer_finish(of.reducer, NULL, &me->error), TUTTI_ERR_BACKEND);
    RANK_SAYS(me, "the hook of rank 1 failed for bucket 1: no wish to go on");
    RANK_EXPECT(me, me->error.rank == 1);
    RANK_EXPECT(me, rank_sum(me, me->group, 1) == me->size);
    model_free(&of);
}

static void a_hook_takes_the_place_of_the_reduction_on_ranks(void** state) {
    (void)state;
    /* The message that a hook writes is its own: it names a fault of another rank as that rank. */
    RUN(2, a_hook_takes_the_place_of_the_reduction);
}

static void gradients_travel_in_half_the_bytes(rank_context* me) {
    const tutti_dtype dtypes[] = {TUTTI_FLOAT32, TUTTI_COMPLEX64};
    for (tutti_compression kind = TUTTI_COMPRESSION_FLOAT16; kind <= TUTTI_COMPRESSION_BFLOAT16;
         ++kind) {
        model of = model_of(me, dtypes, 2);
        const tutti_reducer_options options = small_buckets();
        RANK_OK(me, model_create(&of, me->group, &options));
        RANK_OK(me, tutti_reducer_set_compression(of.reducer, kind, &me->error));
        for (int64_t pass = 0; pass < 3 && !me->failed; ++pass) {
            mark_all(&of, pass);
            RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
            expect_means(&of, pass, 1, kind == TUTTI_COMPRESSION_FLOAT16 ? 0x1p-10 : 0x1p-7);
        }
        const int64_t bytes = logged(&of, "gradient_bytes");
        RANK_EXPECT(me, bytes > 0 && logged(&of, "communicated_bytes") * 2 == bytes);
        RANK_OK(me, tutti_reducer_set_compression(of.reducer, TUTTI_COMPRESSION_NONE, &me->error));
        mark_all(&of, 5);
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        RANK_EXPECT(me, logged(&of, "communicated_bytes") * 8 == logged(&of, "gradient_bytes") * 5);
        model_free(&of);
    }
}
RANK_TEST(gradients_travel_in_half_the_bytes, 4)

/* The values of a bucket lie from -4 to 4, so that a step is 8 / 255. */
static void gradients_travel_as_small_numbers(rank_context* me) {
    const tutti_dtype dtypes[] = {TUTTI_FLOAT32, TUTTI_FLOAT64, TUTTI_FLOAT16};
    model of = model_of(me, dtypes, 3);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    RANK_OK(me, tutti_reducer_set_compression(of.reducer, TUTTI_COMPRESSION_QUANTISED, &me->error));
    for (int64_t pass = 0; pass < 3 && !me->failed; ++pass) {
        mark_all(&of, pass);
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
        expect_means(&of, pass, 1, 4.0 / 255);
    }
    RANK_EXPECT(me, logged(&of, "communicated_bytes") * 3 < logged(&of, "gradient_bytes"));
    const tutti_buffer place = gradient_of(&of, 3, 0);
    put_element(place.dtype, place.data, 0, real_number(me->rank == 1 ? HUGE_VAL : 1));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    for (int64_t i = 0; i < of.count; ++i) {
        RANK_OK(me, tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error));
    }
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    RANK_EXPECT(me, isnan(get_element(place.dtype, place.data, 0).real));
    RANK_EXPECT(me, isnan(get_element(place.dtype, place.data, 99).real));
    model_free(&of);
}
RANK_TEST(gradients_travel_as_small_numbers, 4)

/* float64 is rounded on the way; large numbers do not overflow before the mean is taken. */
static void short_floats_hold_what_they_can(rank_context* me) {
    double values[3] = {1e6, 60000, 1.0 / 3};
    tutti_buffer parameter = TUTTI_BUFFER_INIT(values, 3, TUTTI_FLOAT64), place;
    tutti_reducer* reducer = NULL;
    RANK_OK(me,
            tutti_reducer_create(me->group, &parameter, NULL, NULL, 1, NULL, &reducer, &me->error));
    RANK_OK(me, tutti_reducer_set_compression(reducer, TUTTI_COMPRESSION_FLOAT16, &me->error));
    RANK_OK(me, tutti_reducer_gradient(reducer, 0, &place, &me->error));
    memcpy(place.data, values, sizeof values);
    RANK_OK(me, tutti_reducer_begin(reducer, 1, &me->error));
    RANK_OK(me, tutti_reducer_mark_ready(reducer, 0, NULL, &me->error));
    RANK_OK(me, tutti_reducer_finish(reducer, NULL, &me->error));
    const double* const results = (const double*)place.data;
    RANK_EXPECT(me, isinf(results[0]) && results[1] == 60000);
    RANK_EXPECT(me, is_about(results[2], values[2], 0x1p-10) && results[2] != values[2]);
    tutti_reducer_release(reducer);
}
RANK_TEST(short_floats_hold_what_they_can, 3)

enum { MICRO_BATCHES = 8, NUMBERS = 2000 };
static float of_one_rank[NUMBERS]; /* rank 0's alone: ranks share nothing but messages */

static float part_of_micro_batch(int64_t batch, int64_t at) {
    const uint64_t drawn = draw_at(11, (uint64_t)batch, 0, (uint64_t)at);
    return ldexpf((float)(int32_t)(drawn % 2000001) - 1000000, (int)(drawn >> 40) % 30 - 30);
}

/* The ranks share the micro-batches, in parts that differ in size. */
static void exact_means(rank_context* me) {
    tutti_new_group_options exact = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    tutti_group* group = NULL;
    tutti_reducer* reducer = NULL;
    static float values[MICRO_BATCHES][NUMBERS];
    float own[NUMBERS], of_rank_0[NUMBERS];
    const tutti_buffer gradient = TUTTI_BUFFER_INIT(own, NUMBERS, TUTTI_FLOAT32);
    const tutti_buffer means = TUTTI_BUFFER_INIT(of_rank_0, NUMBERS, TUTTI_FLOAT32);
    tutti_buffer parameter = TUTTI_BUFFER_INIT(values[me->rank], NUMBERS, TUTTI_FLOAT32);
    exact.reproducible = TUTTI_REPRODUCIBLE;
    options.keep_micro_batches = MICRO_BATCHES;
    options.no_initial_broadcast = 1;
    RANK_OK(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, &exact, &group, &me->error));
    RANK_OK(me,
            tutti_reducer_create(group, &parameter, NULL, NULL, 1, &options, &reducer, &me->error));
    for (int pass = 0; pass < 2; ++pass) {
        const int64_t end = MICRO_BATCHES * (me->rank + 1) / me->size;
        for (int64_t batch = MICRO_BATCHES * me->rank / me->size; batch < end; ++batch) {
            for (int at = 0; at < NUMBERS; ++at) own[at] = part_of_micro_batch(batch, at);
            RANK_OK(me, tutti_reducer_begin(reducer, batch + 1 == end, &me->error));
            RANK_OK(me, tutti_reducer_mark_ready(reducer, 0, &gradient, &me->error));
            RANK_OK(me, tutti_reducer_finish(reducer, NULL, &me->error));
        }
        memcpy(of_rank_0, own, sizeof own);
        RANK_OK(me, tutti_broadcast(group, &means, 0, NULL, NULL, &me->error));
        RANK_EXPECT(me, memcmp(of_rank_0, own, sizeof own) == 0);
    }
    if (me->size == 1) memcpy(of_one_rank, own, sizeof own);
    if (me->rank == 0) RANK_EXPECT(me, memcmp(of_one_rank, own, sizeof own) == 0);
    RANK_REFUSES(me, tutti_reducer_set_hook(reducer, twice_the_sum, NULL, NULL, &me->error),
                 "options.keep_micro_batches is not 0");
    tutti_reducer_release(reducer);
    tutti_group_release(group);
}

static void any_number_of_ranks_gets_the_same_bits(void** state) {
    (void)state;
    RUN(1, exact_means);
    RUN(2, exact_means);
    RUN(3, exact_means);
    RUN(4, exact_means);
    RUN(8, exact_means);
}

static void what_a_reducer_does_is_told(rank_context* me) {
    model of = model_of(me, mixed, 3);
    tutti_reducer_options options = small_buckets();
    tutti_object* object = NULL;
    const char* text = NULL;
    int64_t node = 0, size = 0;
    int32_t has_rebuilt = 0;
    options.static_graph = 1;
    RANK_OK(me, model_create(&of, me->group, &options));
    for (int64_t pass = 0; pass < 3; ++pass) {
        RANK_OK(me, tutti_reducer_begin_forward(of.reducer, &me->error));
        RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
        for (int64_t i = 0; i < of.count; ++i) {
            if (i != 5) RANK_OK(me, tutti_reducer_mark_ready(of.reducer, i, NULL, &me->error));
        }
        RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    }
    RANK_EXPECT(me, logged(&of, "world_size") == me->size && logged(&of, "rank") == me->rank);
    RANK_EXPECT(me, logged(&of, "iteration") == 3 && logged(&of, "num_parameter_tensors") == 10);
    RANK_EXPECT(me, logged(&of, "avg_forward_compute_time") > 0);
    RANK_EXPECT(me, logged(&of, "avg_backward_compute_time") > 0);
    RANK_EXPECT(me, logged(&of, "avg_backward_comm_time") > 0);
    RANK_EXPECT(me, logged(&of, "avg_backward_compute_comm_overlap_time") <=
                        logged(&of, "avg_backward_comm_time"));
    RANK_EXPECT(me, logged(&of, "unused_parameter_size") == 2);
    RANK_OK(me, tutti_reducer_logging_data(of.reducer, &object, &me->error));
    RANK_OK(me, tutti_object_find(object, 0, "unused_parameters", &node, &me->error));
    RANK_OK(me, tutti_object_get_string(object, node + 1, &text, &size, &me->error));
    RANK_EXPECT(me, strcmp(text, "gate") == 0);
    RANK_OK(me, tutti_object_find(object, 0, "master_port", &node, &me->error));
    RANK_OK(me, tutti_object_get_string(object, node, &text, &size, &me->error));
    RANK_EXPECT(me, size > 0);
    RANK_OK(me, tutti_object_find(object, 0, "has_rebuilt_buckets", &node, &me->error));
    RANK_OK(me, tutti_object_get_bool(object, node, &has_rebuilt, &me->error));
    RANK_EXPECT(me, has_rebuilt == 1);
    tutti_object_release(object);
    model_free(&of);
}
RANK_TEST(what_a_reducer_does_is_told, 2)

static char said[8192];
static int lines_cut;

static void hear(tutti_log_level level, const char* message, void* user) {
    (void)level, (void)user;
    if (strchr(message, '\n') != NULL) ++lines_cut;
    strncat(said, message, sizeof said - strlen(said) - 1);
    strncat(said, "\n", sizeof said - strlen(said) - 1);
}

static void two_layers(rank_context* me) {
    model of;
    memset(&of, 0, sizeof of);
    of.me = me;
    model_add(&of, "a.\nweight", 100, TUTTI_FLOAT32);
    model_add(&of, "b.weight", 10, TUTTI_FLOAT32);
    tutti_reducer_options options = TUTTI_REDUCER_OPTIONS_INIT;
    options.find_unused_parameters = 1;
    RANK_OK(me, model_create(&of, me->group, &options));
    RANK_OK(me, tutti_reducer_begin(of.reducer, 1, &me->error));
    RANK_OK(me, tutti_reducer_mark_ready(of.reducer, 1, NULL, &me->error));
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    model_free(&of);
}

/* torch's document shows them for a model of 440 bytes. */
static void the_log_tells_of_the_reducer_and_its_passes(void** state) {
    static const char* const lines[] = {"[Rank 0]: DDP Initialized with:",
                                        "bucket_cap_bytes: 26214400",
                                        "find_unused_parameters: 1",
                                        "gradient_as_bucket_view: 1",
                                        "is_multi_device_module: 0",
                                        "iteration: 0",
                                        "num_parameter_tensors: 2",
                                        "rank: 0",
                                        "static_graph: 0",
                                        "total_parameter_size_bytes: 440",
                                        "world_size: 1",
                                        "bucket_sizes: 440",
                                        "device_ids: ",
                                        "dtypes: float32",
                                        "cuda_visible_devices: ",
                                        "master_addr: node-\xef\xbf\xbd",
                                        "master_port: ",
                                        "nccl_debug: N/A",
                                        "nccl_ib_timeout: ",
                                        "nccl_nthreads: ",
                                        "nccl_socket_ifname: ",
                                        "torch_distributed_debug: DETAIL",
                                        "unused_parameter_size=400",
                                        "Unused parameters: 0 \"a.\\nweight\"",
                                        "Avg forward compute time: 0",
                                        "Avg backward compute time: ",
                                        "Avg backward comm. time: ",
                                        "Avg backward comm/comp overlap time: "};
    const tutti_debug_level before = tutti_get_debug_level();
    (void)state;
    EXPECT_OK(tutti_set_log_callback(hear, NULL, NULL, TUTTI_LOG_INFO, &error));
    EXPECT_OK(tutti_set_debug_level(TUTTI_DEBUG_DETAIL, &error));
    (void)setenv("MASTER_ADDR", "node-\xff", 1);
    (void)unsetenv("NCCL_DEBUG");
    RUN(1, two_layers);
    (void)unsetenv("MASTER_ADDR");
    EXPECT_OK(tutti_set_debug_level(before, &error));
    EXPECT_OK(tutti_set_log_callback(NULL, NULL, NULL, TUTTI_LOG_OFF, &error));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        if (strstr(said, lines[i]) != NULL) continue;
        print_error("no \"%s\" in:\n%s", lines[i], said);
        fail();
    }
    assert_int_equal(lines_cut, 0);
}

/* A hook that asks its own reducer to wait for it. */
typedef struct asking {
    tutti_reducer* reducer;
    int calls;
    int refused;
} asking;

static tutti_status sum_and_ask(tutti_group* group, const tutti_bucket* bucket, void* user,
                                tutti_error* why) {
    asking* const mine = (asking*)user;
    tutti_error told = TUTTI_ERROR_INIT;
    tutti_bucket next = TUTTI_BUCKET_INIT;
    tutti_work* work = NULL;
    ++mine->calls;
    const tutti_status answers[] = {tutti_reducer_finish(mine->reducer, NULL, &told),
                                    tutti_reducer_finish(mine->reducer, &work, &told),
                                    tutti_reducer_next_bucket(mine->reducer, &next, &told)};
    for (int i = 0; i < 3; ++i) mine->refused += answers[i] == TUTTI_ERR_INVALID_ARGUMENT;
    if (strstr(told.message, "hook of this reducer") == NULL) return TUTTI_ERR_INTERNAL;
    return tutti_all_reduce(group, NULL, &bucket->gradients, TUTTI_SUM, NULL, NULL, why);
}

static void ask_in_a_hook(rank_context* me) {
    asking mine = {NULL, 0, 0};
    model of = model_of(me, floats, 1);
    const tutti_reducer_options options = small_buckets();
    RANK_OK(me, model_create(&of, me->group, &options));
    mine.reducer = of.reducer;
    RANK_OK(me, tutti_reducer_set_hook(of.reducer, sum_and_ask, &mine, NULL, &me->error));
    mark_all(&of, 0);
    RANK_OK(me, tutti_reducer_finish(of.reducer, NULL, &me->error));
    expect_means(&of, 0, me->size, 0);
    RANK_EXPECT(me, mine.calls > 1 && mine.refused == 3 * mine.calls);
    model_free(&of);
}
RANK_TEST(ask_in_a_hook, 2)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(buckets_come_one_after_the_other_on_ranks),
        TEST(a_hook_takes_the_place_of_the_reduction_on_ranks),
        {"a_hook_that_would_wait_for_itself_is_refused", ask_in_a_hook_on_ranks, NULL, NULL, NULL},
        TEST(gradients_travel_in_half_the_bytes_on_ranks),
        TEST(gradients_travel_as_small_numbers_on_ranks),
        TEST(short_floats_hold_what_they_can_on_ranks),
        TEST(any_number_of_ranks_gets_the_same_bits),
        TEST(what_a_reducer_does_is_told_on_ranks),
        TEST(the_log_tells_of_the_reducer_and_its_passes),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
