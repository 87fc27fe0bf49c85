/* Do addends give the same bits, however they are spread over ranks? The program's argument names
 * the backend. */
#include <stdlib.h>

#include "exact_on_ranks.h"

enum { ADDENDS = MOST_RANKS };

/* How many of the addends rank r of so many has: in all ADDENDS. */
typedef int32_t (*spread)(int32_t rank, int32_t size);

static int32_t evenly(int32_t rank, int32_t size) {
    return ADDENDS / size + (rank < ADDENDS % size ? 1 : 0);
}
static int32_t all_on_the_last(int32_t rank, int32_t size) {
    return rank == size - 1 ? ADDENDS : 0;
}
static int32_t max_on_the_first(int32_t rank, int32_t size) {
    return rank == 0 ? ADDENDS - (size - 1) : 1;
}

typedef struct task {
    const numbers* given;
    spread how;
} task;

/* This rank's addends; returns how many. */
static int32_t own_addends(rank_context* me, const task* todo, tutti_buffer* inputs) {
    int32_t before = 0;
    for (int32_t rank = 0; rank < me->rank; ++rank) before += todo->how(rank, me->size);
    const int32_t own = todo->how(me->rank, me->size);
    for (int32_t i = 0; i < own; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(given_number(todo->given, before + i, 0),
                                                   todo->given->count, todo->given->dtype);
        inputs[i] = one;
    }
    return own;
}

static void add_all(rank_context* me, tutti_group* group, const task* todo) {
    const numbers* given = todo->given;
    const size_t size = (size_t)given->count * (size_t)tutti_dtype_size(given->dtype);
    unsigned char* const result = (unsigned char*)malloc(size + 1);
    tutti_buffer inputs[ADDENDS];
    const int32_t own = own_addends(me, todo, inputs);
    const tutti_buffer output = TUTTI_BUFFER_INIT(result, given->count, given->dtype);
    memset(result, 0x5a, size + 1);
    const tutti_status status = tutti_all_reduce_addends(
        group, own == 0 ? NULL : inputs, (size_t)own, &output, TUTTI_SUM, NULL, NULL, &me->error);
    const int same = memcmp(result, exact_sum(given, ADDENDS, 0), size) == 0;
    const int beside = result[size] != 0x5a;
    tutti_status again = TUTTI_OK;
    int same_in_place = 1;
    if (own > 0) { /* in place of the first, and in the background */
        memcpy(result, inputs[0].data, size);
        inputs[0].data = result;
    }
    tutti_work* work = NULL;
    again = tutti_all_reduce_addends(group, inputs, (size_t)own, &output, TUTTI_SUM, NULL, &work,
                                     &me->error);
    if (again == TUTTI_OK) again = tutti_work_wait(work, 0, &me->error);
    tutti_work_release(work);
    same_in_place = memcmp(result, exact_sum(given, ADDENDS, 0), size) == 0;
    free(result);
    RANK_EXPECT(me, status == TUTTI_OK && again == TUTTI_OK);
    RANK_EXPECT(me, same && !beside);
    RANK_EXPECT(me, same_in_place);
}

static void add_in_every_way(rank_context* me) {
    tutti_group* const group = reproducible_group(me);
    static const spread ways[] = {evenly, all_on_the_last, max_on_the_first};
    for (size_t way = 0; !me->failed && way < sizeof ways / sizeof *ways; ++way) {
        const task todo = {(const numbers*)me->user, ways[way]};
        add_all(me, group, &todo);
    }
    tutti_group_release(group);
}

static void addends_give_the_same_bits_over_any_number_of_ranks(void** state) {
    (void)state;
    try_numbers(add_in_every_way, 331, 0, KINDS);
}

static void many_and_no_elements_are_added(void** state) {
    (void)state;
    try_numbers(add_in_every_way, 0, 0, 1);
    try_numbers(add_in_every_way, 40003, SPREAD, SPREAD + 1);
}

static void what_is_no_addend_is_refused(rank_context* me) {
    double one = 1, two[2] = {1, 2};
    const tutti_buffer input = TUTTI_BUFFER_INIT(&one, 1, TUTTI_FLOAT64);
    const tutti_buffer longer = TUTTI_BUFFER_INIT(two, 2, TUTTI_FLOAT64);
    const tutti_buffer whole = TUTTI_BUFFER_INIT(&one, 1, TUTTI_INT64);
    tutti_buffer inputs[2];
    inputs[0] = input, inputs[1] = longer;
    RANK_REFUSES(
        me,
        tutti_all_reduce_addends(me->group, &input, 1, &input, TUTTI_SUM, NULL, NULL, &me->error),
        "needs a group that was made with options.reproducible");
    tutti_group* const group = reproducible_group(me);
#define REFUSED(list, count, op, words)                                                            \
    RANK_REFUSES(me,                                                                               \
                 tutti_all_reduce_addends(group, list, count, &input, op, NULL, NULL, &me->error), \
                 words)
    REFUSED(inputs, 2, TUTTI_SUM, "inputs[1].count is 2 but output.count is 1");
    REFUSED(&whole, 1, TUTTI_SUM, "inputs[0].dtype is int64");
    REFUSED(&input, 1, TUTTI_MAX, "op is MAX; it must be SUM or AVG");
    REFUSED(NULL, 1, TUTTI_SUM, "inputs is NULL but has 1");
    /* Lists of these lengths are not read. */
    REFUSED(inputs, 2049, TUTTI_SUM, "input_count is 2049, above 2048");
    REFUSED(inputs, -1, TUTTI_SUM, "input_count is -1");
    REFUSED(inputs, INT64_MAX, TUTTI_SUM, "above 2048");
#undef REFUSED
    const tutti_buffer first = TUTTI_BUFFER_INIT(two, 1, TUTTI_FLOAT64);
    const tutti_buffer across = TUTTI_BUFFER_INIT((char*)two + 4, 1, TUTTI_FLOAT64);
    RANK_REFUSES(
        me, tutti_all_reduce_addends(group, &across, 1, &first, TUTTI_SUM, NULL, NULL, &me->error),
        "inputs[0] and output overlap");
    tutti_group_release(group);
}
RANK_TEST(what_is_no_addend_is_refused, 2)

static void averages_are_of_all_addends(rank_context* me) {
    tutti_group* const group = reproducible_group(me);
    float values[3][2] = {{1, 0x1p100F}, {0x1p-24F, -0x1p100F}, {0x1p-24F, 3}}, result[2];
    tutti_buffer inputs[3];
    for (int i = 0; i < 3; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(values[i], 2, TUTTI_FLOAT32);
        inputs[i] = one;
    }
    const tutti_buffer output = TUTTI_BUFFER_INIT(result, 2, TUTTI_FLOAT32);
    /* rank 0 has none, rank 1 has all three, rank 2 one of them again */
    const size_t own = me->rank == 0 ? 0 : me->rank == 1 ? 3 : 1;
    RANK_OK(me, tutti_all_reduce_addends(group, inputs + (me->rank == 2 ? 2 : 0), own, &output,
                                         TUTTI_AVG, NULL, NULL, &me->error));
    RANK_EXPECT(me, result[0] == (1 + 0x1p-22F) / 4);
    RANK_EXPECT(me, result[1] == 1.5F);
    tutti_group_release(group);
}
RANK_TEST(averages_are_of_all_addends, 3)

static void no_addend_at_all_gives_zero(rank_context* me) {
    tutti_group* const group = reproducible_group(me);
    double result[3] = {5, 6, 7};
    const tutti_buffer output = TUTTI_BUFFER_INIT(result, 3, TUTTI_FLOAT64);
    for (tutti_reduce_op op = TUTTI_SUM; op <= TUTTI_AVG; ++op) {
        RANK_OK(me, tutti_all_reduce_addends(group, NULL, 0, &output, op, NULL, NULL, &me->error));
        for (int i = 0; i < 3; ++i) RANK_EXPECT(me, result[i] == 0);
        result[1] = 9;
    }
    tutti_group_release(group);
}
RANK_TEST(no_addend_at_all_gives_zero, 3)

static void integers_and_bools_are_added_too(rank_context* me) {
    tutti_group* const group = reproducible_group(me);
    int32_t whole[2] = {1000 + me->rank, INT32_MAX}, sum = 0;
    unsigned char truth = 7, any = 9;
    tutti_buffer inputs[2];
    for (int i = 0; i < 2; ++i) {
        const tutti_buffer one = TUTTI_BUFFER_INIT(whole + i, 1, TUTTI_INT32);
        inputs[i] = one;
    }
    const tutti_buffer output = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_INT32);
    RANK_OK(me, tutti_all_reduce_addends(group, inputs, me->rank == 0 ? 2 : 1, &output, TUTTI_SUM,
                                         NULL, NULL, &me->error));
    RANK_EXPECT(me, (uint32_t)sum == 3003U + (uint32_t)INT32_MAX);
    const tutti_buffer said = TUTTI_BUFFER_INIT(&truth, 1, TUTTI_BOOL);
    const tutti_buffer heard = TUTTI_BUFFER_INIT(&any, 1, TUTTI_BOOL);
    RANK_OK(me, tutti_all_reduce_addends(group, &said, me->rank == 1 ? 1 : 0, &heard, TUTTI_SUM,
                                         NULL, NULL, &me->error));
    RANK_EXPECT(me, any == 1);
    tutti_group_release(group);
}
RANK_TEST(integers_and_bools_are_added_too, 3)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(addends_give_the_same_bits_over_any_number_of_ranks),
        TEST(many_and_no_elements_are_added),
        TEST(what_is_no_addend_is_refused_on_ranks),
        TEST(averages_are_of_all_addends_on_ranks),
        TEST(no_addend_at_all_gives_zero_on_ranks),
        TEST(integers_and_bools_are_added_too_on_ranks),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
