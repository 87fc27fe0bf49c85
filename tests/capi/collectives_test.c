/* Collectives between ranks that are threads: each dtype, op, count and place against the
 * reference, and what every call refuses. The first argument is the backend. */
#include <stdlib.h>

#include "on_ranks.h"
#include "support/elements.h"

enum { MOST_RANKS = 4, MOST_ELEMENTS = 1000 };
static const int64_t counts[] = {0, 1, 17, MOST_ELEMENTS};
enum { COUNTS = sizeof counts / sizeof *counts };

typedef struct elements {
    double whole[2 * MOST_ELEMENTS + 2]; /* room for any dtype, aligned for all */
} elements;

static void reduce_everything(rank_context* me) {
    elements in, out, before;
    for (tutti_dtype dtype = 0; dtype < DTYPES; ++dtype) {
        for (tutti_reduce_op op = 0; op < REDUCE_OPS; ++op) {
            if (!is_reducible(dtype, op)) continue;
            for (int i = 0; i < COUNTS; ++i) {
                tutti_buffer input = TUTTI_BUFFER_INIT(&in, counts[i], dtype);
                tutti_buffer output = TUTTI_BUFFER_INIT(&out, counts[i], dtype);
                memset(&in, 0, sizeof in);
                fill_elements(dtype, op, &in, me->rank, me->size, 0, counts[i]);
                before = in;
                RANK_OK(me,
                        tutti_all_reduce(me->group, &input, &output, op, NULL, NULL, &me->error));
                RANK_EXPECT(me, is_reduction(dtype, op, &out, me->size, 0, counts[i]));
                RANK_EXPECT(me, memcmp(&in, &before, sizeof in) == 0);
                RANK_OK(me, tutti_all_reduce(me->group, NULL, &input, op, NULL, NULL, &me->error));
                RANK_EXPECT(me, is_reduction(dtype, op, &in, me->size, 0, counts[i]));
            }
        }
    }
}

static void all_reduce_agrees_with_the_reference(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, reduce_everything);
}

static void reduce_what_is_not_reducible(rank_context* me) {
    elements data;
    for (tutti_dtype dtype = 0; dtype < DTYPES; ++dtype) {
        for (tutti_reduce_op op = 0; op < REDUCE_OPS + 1; ++op) {
            if (op < REDUCE_OPS && is_reducible(dtype, op)) continue;
            tutti_buffer buffer = TUTTI_BUFFER_INIT(&data, 1, dtype);
            RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error),
                        TUTTI_ERR_INVALID_ARGUMENT);
            RANK_EXPECT(me, strstr(me->error.message, dtype_text(dtype)) != NULL ||
                                strstr(me->error.message, "op") != NULL);
        }
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error)); /* the group is unharmed */
}

static void an_op_that_the_dtype_does_not_have_is_refused(void** state) {
    (void)state;
    RUN(2, reduce_what_is_not_reducible);
}

/* Sums of random numbers differ with the order of the additions, but not between ranks. */
static float results[MOST_RANKS][MOST_ELEMENTS];
static void sum_random_numbers(rank_context* me) {
    float* mine = results[me->rank];
    uint32_t seed = 12345u + (uint32_t)me->rank;
    for (int i = 0; i < MOST_ELEMENTS; ++i) {
        seed = seed * 1664525u + 1013904223u;
        mine[i] = (float)seed / 1e9f;
    }
    tutti_buffer buffer = TUTTI_BUFFER_INIT(mine, MOST_ELEMENTS, TUTTI_FLOAT32);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error));
}

static void the_result_is_bitwise_identical_on_all_ranks(void** state) {
    (void)state;
    for (int32_t size = 2; size <= MOST_RANKS; ++size) {
        RUN(size, sum_random_numbers);
        for (int32_t rank = 1; rank < size; ++rank) {
            assert_memory_equal(results[rank], results[0], sizeof results[0]);
        }
    }
}

static void reduce_much(rank_context* me) {
    const int64_t count = 3000001;
    int32_t* data = (int32_t*)malloc((size_t)count * sizeof *data);
    RANK_EXPECT(me, data != NULL);
    for (int64_t i = 0; i < count; ++i) data[i] = (int32_t)i * (me->rank + 1);
    tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, TUTTI_INT32);
    const tutti_status status =
        tutti_all_reduce(me->group, NULL, &buffer, TUTTI_MAX, NULL, NULL, &me->error);
    int64_t right = 0;
    while (right < count && data[right] == (int32_t)right * me->size) ++right;
    free(data);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, right == count);
}

static void large_buffers_are_reduced(void** state) {
    (void)state;
    RUN(3, reduce_much);
}

static void broadcast_everything(rank_context* me) {
    elements data;
    for (tutti_dtype dtype = 0; dtype < DTYPES; ++dtype) {
        for (int32_t source = 0; source < me->size; ++source) {
            for (int i = 0; i < COUNTS; ++i) {
                elements wanted;
                tutti_buffer buffer = TUTTI_BUFFER_INIT(&data, counts[i], dtype);
                memset(&data, 0x55, sizeof data);
                memset(&wanted, 0x55, sizeof wanted);
                fill_elements(dtype, TUTTI_SUM, &wanted, source, me->size, 0, counts[i]);
                if (me->rank == source) data = wanted;
                RANK_OK(me, tutti_broadcast(me->group, &buffer, source, NULL, NULL, &me->error));
                RANK_EXPECT(me, memcmp(&data, &wanted, sizeof data) == 0);
            }
        }
    }
}

static void broadcast_gives_everybody_what_the_source_has(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, broadcast_everything);
}

static void pass_barriers(rank_context* me) {
    int* arrived = (int*)me->user;
    for (int round = 1; round <= 100; ++round) {
        __atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
        RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
        RANK_EXPECT(me, __atomic_load_n(arrived, __ATOMIC_SEQ_CST) >= round * me->size);
    }
}

static void nobody_leaves_a_barrier_before_all_have_come(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) {
        int arrived = 0;
        RUN_WITH(size, pass_barriers, &arrived);
    }
}

/* One rank, whose calls must be refused before anything moves. */
static tutti_group* group;
static tutti_store* store;

static int make_group(void** state) {
    (void)state;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_group_create(backend, store, NULL, 0, 1, NULL, &group, &error));
    return 0;
}

static int end_group(void** state) {
    (void)state;
    EXPECT_OK(tutti_barrier(group, NULL, NULL, &error)); /* no refusal harmed it */
    EXPECT_OK(tutti_destroy_process_group(group, NULL, &error));
    tutti_group_release(group);
    tutti_store_release(store);
    return 0;
}

static tutti_status reduce_in(const tutti_buffer* input, const tutti_buffer* output) {
    return tutti_all_reduce(group, input, output, TUTTI_SUM, NULL, NULL, &error);
}

static void faults_of_a_buffer_are_named(void** state) {
    (void)state;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    float data[4] = {1, 2, 3, 4};
    const tutti_buffer good = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
    tutti_buffer buffer;
    EXPECT_ERROR(reduce_in(NULL, NULL), bad, "tutti_all_reduce: output is NULL");
    EXPECT_ERROR(tutti_broadcast(group, NULL, 0, NULL, NULL, &error), bad,
                 "tutti_broadcast: buffer is NULL");
    buffer = good, buffer.count = -3;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "output.count is -3");
    buffer = good, buffer.count = INT64_MAX;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "output.count is 9223372036854775807");
    buffer = good, buffer.dtype = 99;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "output.dtype is 99");
    buffer = good, buffer.data = NULL;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "output.data is NULL");
    EXPECT_ERROR(reduce_in(&buffer, &good), bad, "input.data is NULL");
    buffer = good, buffer.device_type = 7;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "output.device_type is 7, no known device type");
    buffer = good, buffer.device_type = TUTTI_CUDA;
    EXPECT_ERROR(reduce_in(NULL, &buffer), TUTTI_ERR_UNSUPPORTED,
                 "output.device_type is 1 (cuda): NVIDIA's driver is not here");
    buffer = good, buffer.device_type = TUTTI_XPU;
    EXPECT_ERROR(reduce_in(&buffer, &good), TUTTI_ERR_UNSUPPORTED, "input.device_type is 12 (xpu)");
    buffer = good, buffer.device_index = 1;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "output.device_index is 1");
    buffer = good, buffer.reserved_0 = 1;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "reserved");
    buffer = good, buffer.reserved[3] = 1;
    EXPECT_ERROR(reduce_in(NULL, &buffer), bad, "reserved");
    assert_true(data[0] == 1 && data[3] == 4);
}

static void input_and_output_must_fit(void** state) {
    (void)state;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const tutti_buffer output = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
    tutti_buffer input = TUTTI_BUFFER_INIT(data + 4, 4, TUTTI_FLOAT32);
    input.dtype = TUTTI_INT32;
    EXPECT_ERROR(reduce_in(&input, &output), bad, "input.dtype is int32 but output.dtype is float");
    input = output, input.count = 3;
    EXPECT_ERROR(reduce_in(&input, &output), bad, "input.count is 3 but output.count is 4");
    input = output, input.data = data + 1;
    EXPECT_ERROR(reduce_in(&input, &output), bad, "overlap");
    input.data = (char*)data + 1;
    EXPECT_ERROR(reduce_in(&output, &input), bad, "overlap");
    EXPECT_OK(reduce_in(&output, &output));
    assert_true(data[0] == 1 && data[4] == 5);
    input.data = data + 4;
    EXPECT_OK(reduce_in(&input, &output));
    assert_true(data[0] == 5 && data[3] == 8);
}

static void a_source_that_is_not_in_the_group_is_refused(void** state) {
    (void)state;
    char byte = 0;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&byte, 1, TUTTI_INT8);
    EXPECT_ERROR(tutti_broadcast(group, &buffer, 1, NULL, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "group_src is 1");
    EXPECT_ERROR(tutti_broadcast(group, &buffer, -1, NULL, NULL, &error),
                 TUTTI_ERR_INVALID_ARGUMENT, "group_src is -1");
}

static void options_of_a_call_are_checked(void** state) {
    (void)state;
    tutti_call_options options = TUTTI_CALL_OPTIONS_INIT;
    options.timeout_ms = TUTTI_NO_TIMEOUT;
    EXPECT_OK(tutti_barrier(group, &options, NULL, &error));
    options.timeout_ms = -2;
    EXPECT_ERROR(tutti_barrier(group, &options, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "options.timeout_ms is -2");
    tutti_call_options_init(&options, sizeof options);
    options.reserved = 1;
    EXPECT_ERROR(tutti_barrier(group, &options, NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "options.reserved");
}

int main(int argc, char** argv) {
#define REFUSAL_TEST(function) \
    { #function, function, make_group, end_group, NULL }
    const struct CMUnitTest tests[] = {
        TEST(all_reduce_agrees_with_the_reference),
        TEST(an_op_that_the_dtype_does_not_have_is_refused),
        TEST(the_result_is_bitwise_identical_on_all_ranks),
        TEST(large_buffers_are_reduced),
        TEST(broadcast_gives_everybody_what_the_source_has),
        TEST(nobody_leaves_a_barrier_before_all_have_come),
        REFUSAL_TEST(faults_of_a_buffer_are_named),
        REFUSAL_TEST(input_and_output_must_fit),
        REFUSAL_TEST(a_source_that_is_not_in_the_group_is_refused),
        REFUSAL_TEST(options_of_a_call_are_checked),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
