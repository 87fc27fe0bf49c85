/* Sums of inputs that each rank multiplies by its factor. The first argument is the backend. */
#include <stdlib.h>

#include "on_ranks.h"
#include "support/reference.h"

enum { MOST = 20000, FEW = 7, MOST_RANKS = 5 };

static tutti_buffer of(void* data, int64_t count, tutti_dtype dtype) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, count, dtype);
    return buffer;
}

/* Rank r's factor is r + 1, of the dtype itself; its elements are 1 and 2 in turn. */
static void premultiply(rank_context* me, tutti_dtype dtype, int64_t count, int in_place) {
    unsigned char factor[16];
    tutti_reduce_op op = 0;
    void* input = calloc((size_t)count, 16);
    void* output = calloc((size_t)count, 16);
    const tutti_buffer from = of(input, count, dtype), to = of(output, count, dtype);
    put_element(dtype, factor, 0, real_number(me->rank + 1));
    for (int64_t i = 0; i < count; ++i) {
        put_element(dtype, in_place ? output : input, i, real_number((double)(i % 2 + 1)));
    }
    const tutti_buffer one = of(factor, 1, dtype);
    const int32_t factors = me->size * (me->size + 1) / 2;
    tutti_status status = tutti_reduce_op_create_premul_sum(&one, &op, &me->error);
    if (status == TUTTI_OK) {
        status =
            tutti_all_reduce(me->group, in_place ? NULL : &from, &to, op, NULL, NULL, &me->error);
    }
    int wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
        const number got = get_element(dtype, output, i);
        wrong += got.real != (double)((i % 2 + 1) * factors) || got.imaginary != 0;
        wrong += !in_place && get_element(dtype, input, i).real != (double)(i % 2 + 1);
    }
    tutti_reduce_op_release(op);
    free(input);
    free(output);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, wrong == 0);
}

static void premultiply_everything(rank_context* me) {
    for (tutti_dtype dtype = TUTTI_INT8; dtype < TUTTI_BOOL; ++dtype) {
        for (int in_place = 0; in_place < 2 && !me->failed; ++in_place) {
            premultiply(me, dtype, FEW, in_place);
            premultiply(me, dtype, MOST, in_place);
        }
    }
}

static void each_rank_has_its_own_factor(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, premultiply_everything);
}

/* Rank r's factor is r + 1; inputs stay as they are. */
static void premultiply_to_some(rank_context* me) {
    enum { PART = 3000, WHOLE = PART * 5 };
    static float inputs[MOST_RANKS][WHOLE], outputs[MOST_RANKS][WHOLE];
    float *input = inputs[me->rank], *output = outputs[me->rank];
    int32_t mine = me->rank + 1;
    const float factors = (float)(me->size * (me->size + 1) / 2);
    const int64_t whole = (int64_t)PART * me->size;
    const tutti_buffer factor = of(&mine, 1, TUTTI_INT32);
    tutti_reduce_op op = 0;
    RANK_OK(me, tutti_reduce_op_create_premul_sum(&factor, &op, &me->error));
    for (int64_t i = 0; i < whole; ++i) input[i] = (float)(i % 7);
    for (int64_t count = PART; count > 0; count /= 50) {
        const int64_t part = count, all = count * me->size;
        const tutti_buffer from = of(input, all, TUTTI_FLOAT32);
        const tutti_buffer to = of(output, all, TUTTI_FLOAT32);
        const tutti_buffer own = of(output, part, TUTTI_FLOAT32);
        RANK_OK(me, tutti_reduce(me->group, &from, &to, op, me->size - 1, NULL, NULL, &me->error));
        for (int64_t i = 0; i < all && me->rank == me->size - 1; ++i) {
            RANK_EXPECT(me, output[i] == factors * (float)(i % 7));
        }
        RANK_OK(me,
                tutti_reduce_scatter_tensor(me->group, &from, &own, op, NULL, NULL, &me->error));
        for (int64_t i = 0; i < part; ++i) {
            RANK_EXPECT(me, output[i] == factors * (float)((me->rank * part + i) % 7));
        }
    }
    for (int64_t i = 0; i < whole; ++i) RANK_EXPECT(me, input[i] == (float)(i % 7));
    tutti_reduce_op_release(op);
}

static void factors_reach_reduce_and_reduce_scatter_and_leave_inputs_alone(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, premultiply_to_some);
}

/* Rank 0 has one op for all calls, the others a factor for each. */
static void gather_calls_with_factors(rank_context* me) {
    enum { CALLS = 4 };
    double values[CALLS] = {1, 1, 1, 1};
    tutti_reduce_op ops[CALLS] = {0, 0, 0, 0};
    tutti_group* coalescing = NULL;
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &coalescing, &me->error));
    for (int i = 0; i < CALLS; ++i) {
        double factor = me->rank == 0 ? 1 : i + 2;
        const tutti_buffer one = of(&factor, 1, TUTTI_FLOAT64);
        const tutti_buffer buffer = of(&values[i], 1, TUTTI_FLOAT64);
        ops[i] = ops[0];
        if (me->rank > 0 || i == 0) {
            RANK_OK(me, tutti_reduce_op_create_premul_sum(&one, &ops[i], &me->error));
        }
        RANK_OK(me, tutti_all_reduce(coalescing, NULL, &buffer, ops[i], NULL, NULL, &me->error));
    }
    for (int i = 0; i < CALLS; ++i) tutti_reduce_op_release(ops[i]);
    RANK_OK(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error));
    for (int i = 0; i < CALLS; ++i) RANK_EXPECT(me, values[i] == 1 + (i + 2) * (me->size - 1));
}

static void calls_that_are_gathered_keep_their_factors(void** state) {
    (void)state;
    for (int32_t size = 1; size <= 3; ++size) RUN(size, gather_calls_with_factors);
}

static void refuse_what_makes_no_sense(rank_context* me) {
    const double half = 0.5;
    double copy = half;
    int32_t integer = 3;
    uint8_t yes = 1;
    tutti_reduce_op op = 0;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    const tutti_buffer factor = of(&copy, 1, TUTTI_FLOAT64), none = of(&copy, 0, TUTTI_FLOAT64);
    const tutti_buffer integers = of(&integer, 1, TUTTI_INT32), boolean = of(&yes, 1, TUTTI_BOOL);
    RANK_OK(me, tutti_reduce_op_create_premul_sum(&factor, &op, &me->error));
    copy = 7; /* it was read */
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &integers, op, NULL, NULL, &me->error), bad);
    RANK_EXPECT(me, strstr(me->error.message, "float64") != NULL);
    RANK_EXPECT(me, strstr(me->error.message, "int32") != NULL);
    RANK_STATUS(me, tutti_all_reduce(me->group, NULL, &boolean, op, NULL, NULL, &me->error), bad);
    RANK_STATUS(
        me, tutti_all_reduce(me->group, NULL, &integers, TUTTI_PREMUL_SUM, NULL, NULL, &me->error),
        bad);
    RANK_EXPECT(me, strstr(me->error.message, "tutti_reduce_op_create_premul_sum") != NULL);
    RANK_STATUS(me, tutti_reduce_op_create_premul_sum(&none, &op, &me->error), bad);
    RANK_EXPECT(me, strstr(me->error.message, "factor.count is 0") != NULL);
    double value = 8;
    const tutti_buffer buffer = of(&value, 1, TUTTI_FLOAT64);
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &buffer, op, NULL, NULL, &me->error));
    RANK_EXPECT(me, value == 4 * me->size && integer == 3);
    tutti_reduce_op_release(op);
}

static void what_makes_no_sense_is_refused_before_anything_moves(void** state) {
    (void)state;
    RUN(1, refuse_what_makes_no_sense);
    RUN(2, refuse_what_makes_no_sense);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(each_rank_has_its_own_factor),
        TEST(factors_reach_reduce_and_reduce_scatter_and_leave_inputs_alone),
        TEST(calls_that_are_gathered_keep_their_factors),
        TEST(what_makes_no_sense_is_refused_before_anything_moves),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
