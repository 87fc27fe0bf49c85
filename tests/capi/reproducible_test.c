/* Are sums of reproducible groups exact, and do ranks agree on what is one? The program's argument
 * names the backend. */
#include <stdlib.h>

#include "exact_on_ranks.h"

/* The memory of one rank: its numbers, and as much memory for results. */
typedef struct bench {
    const numbers* given;
    tutti_group* group;
    unsigned char* memory;
} bench;

static tutti_buffer part_of(const bench* with, unsigned char* memory, int64_t begin,
                            int64_t length) {
    const tutti_buffer part =
        TUTTI_BUFFER_INIT(memory + (size_t)begin * (size_t)tutti_dtype_size(with->given->dtype),
                          length, with->given->dtype);
    return part;
}

static int is_sum(const rank_context* me, const bench* with, int64_t begin, int64_t length) {
    return memcmp(with->memory, exact_sum(with->given, me->size, begin),
                  (size_t)length * (size_t)tutti_dtype_size(with->given->dtype)) == 0;
}

static void all_reduce_is_exact(rank_context* me, const bench* with) {
    const int64_t count = with->given->count;
    const size_t size = (size_t)count * (size_t)tutti_dtype_size(with->given->dtype);
    const tutti_buffer input = part_of(with, given_number(with->given, me->rank, 0), 0, count);
    const tutti_buffer output = part_of(with, with->memory, 0, count);
    RANK_OK(me, tutti_all_reduce(with->group, &input, &output, TUTTI_SUM, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_sum(me, with, 0, count));
    memcpy(with->memory, input.data, size);
    tutti_work* work = NULL;
    RANK_OK(me, tutti_all_reduce(with->group, NULL, &output, TUTTI_SUM, NULL, &work, &me->error));
    const tutti_status status = tutti_work_wait(work, 0, &me->error);
    tutti_work_release(work);
    RANK_EXPECT(me, status == TUTTI_OK && is_sum(me, with, 0, count));
    const int32_t root = (int32_t)(count % me->size);
    memset(with->memory, 0, size);
    RANK_OK(me, tutti_reduce(with->group, &input, me->rank == root ? &output : NULL, TUTTI_SUM,
                             root, NULL, NULL, &me->error));
    RANK_EXPECT(me, me->rank != root || is_sum(me, with, 0, count));
}

static void reduce_scatter_is_exact(rank_context* me, const bench* with) {
    unsigned char* const own = given_number(with->given, me->rank, 0);
    const int64_t count = with->given->count, each = count / me->size;
    const tutti_buffer whole = part_of(with, own, 0, each * me->size);
    const tutti_buffer output = part_of(with, with->memory, 0, each);
    RANK_OK(me, tutti_reduce_scatter_tensor(with->group, &whole, &output, TUTTI_SUM, NULL, NULL,
                                            &me->error));
    RANK_EXPECT(me, is_sum(me, with, me->rank * each, each));
    /* Rank 0 gets nothing, the last one what is left. */
    tutti_buffer inputs[MOST_RANKS];
    int64_t begin = 0, my_begin = 0, my_length = 0;
    for (int32_t rank = 0; rank < me->size; ++rank) {
        const int64_t length = rank == me->size - 1 ? count - begin : rank == 0 ? 0 : each / 2;
        inputs[rank] = part_of(with, own, begin, length);
        if (rank == me->rank) my_begin = begin, my_length = length;
        begin += length;
    }
    const tutti_buffer part = part_of(with, with->memory, 0, my_length);
    RANK_OK(me, tutti_reduce_scatter(with->group, inputs, (size_t)me->size, &part, TUTTI_SUM, NULL,
                                     NULL, &me->error));
    RANK_EXPECT(me, is_sum(me, with, my_begin, my_length));
}

/* Both halves of the numbers in one step. */
static void gathered_calls_are_exact(rank_context* me, const bench* with) {
    unsigned char* const own = given_number(with->given, me->rank, 0);
    const int64_t count = with->given->count, half = count / 2;
    tutti_group* coalescing = NULL;
    RANK_OK(me, tutti_coalescing_begin(with->group, NULL, &coalescing, &me->error));
    for (int i = 0; i < 2; ++i) {
        const int64_t begin = i == 0 ? 0 : half, length = i == 0 ? half : count - half;
        const tutti_buffer input = part_of(with, own, begin, length);
        const tutti_buffer output = part_of(with, with->memory, begin, length);
        RANK_OK(me,
                tutti_all_reduce(coalescing, &input, &output, TUTTI_SUM, NULL, NULL, &me->error));
    }
    RANK_OK(me, tutti_coalescing_end(coalescing, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_sum(me, with, 0, count));
}

/* Inputs and results that the ranks see where they are. */
static void sums_of_shared_memory_are_exact(rank_context* me, const bench* with) {
    const int64_t count = with->given->count;
    const size_t size = (size_t)count * (size_t)tutti_dtype_size(with->given->dtype);
    void *given = NULL, *taken = NULL;
    RANK_OK(me, tutti_memory_alloc(with->group, size, NULL, &given, &me->error));
    RANK_OK(me, tutti_memory_alloc(with->group, size, NULL, &taken, &me->error));
    memcpy(given, given_number(with->given, me->rank, 0), size);
    const tutti_buffer input = part_of(with, (unsigned char*)given, 0, count);
    const tutti_buffer output = part_of(with, (unsigned char*)taken, 0, count);
    for (int in_place = 0; in_place < 2; ++in_place) {
        RANK_OK(me, tutti_all_reduce(with->group, in_place ? NULL : &input, &output, TUTTI_SUM,
                                     NULL, NULL, &me->error));
        memcpy(with->memory, taken, size);
        RANK_EXPECT(me, is_sum(me, with, 0, count));
        memcpy(taken, given, size);
    }
    tutti_memory_release(given);
    tutti_memory_release(taken);
}

static void every_sum_is_exact(rank_context* me) {
    const numbers* const given = (const numbers*)me->user;
    bench with = {given, reproducible_group(me), NULL};
    with.memory =
        (unsigned char*)malloc((size_t)given->count * (size_t)tutti_dtype_size(given->dtype) + 1);
    if (!me->failed) all_reduce_is_exact(me, &with);
    if (!me->failed) reduce_scatter_is_exact(me, &with);
    if (!me->failed) gathered_calls_are_exact(me, &with);
    if (!me->failed) sums_of_shared_memory_are_exact(me, &with);
    free(with.memory);
    tutti_group_release(with.group);
}

static void sums_are_exact_over_any_number_of_ranks(void** state) {
    (void)state;
    try_numbers(every_sum_is_exact, 250, 0, KINDS);
}

static void sums_of_many_and_of_no_elements_are_exact(void** state) {
    (void)state;
    try_numbers(every_sum_is_exact, 0, 0, 1);
    try_numbers(every_sum_is_exact, 30011, SPREAD, SPREAD + 1);
}

/* 1 + 3 * 2^-24 lies between two numbers; one after the other the small ones would be lost. */
static void averages_and_factors_begin_and_end_with_the_exact_sum(rank_context* me) {
    tutti_group* const group = reproducible_group(me);
    float value = me->rank == 0 ? 1 : 0x1p-24F;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT32);
    RANK_OK(me, tutti_all_reduce(group, NULL, &buffer, TUTTI_AVG, NULL, NULL, &me->error));
    RANK_EXPECT(me, value == (1 + 0x1p-22F) / 4);
    const float factor = me->rank == 0 ? 0.5F : 2;
    const tutti_buffer given = TUTTI_BUFFER_INIT((void*)(uintptr_t)&factor, 1, TUTTI_FLOAT32);
    tutti_reduce_op op;
    RANK_OK(me, tutti_reduce_op_create_premul_sum(&given, &op, &me->error));
    value = me->rank == 0 ? 2 : 0x1p-25F;
    const tutti_status status = tutti_all_reduce(group, NULL, &buffer, op, NULL, NULL, &me->error);
    tutti_reduce_op_release(op);
    RANK_EXPECT(me, status == TUTTI_OK && value == 1 + 0x1p-22F);
    tutti_group_release(group);
}
RANK_TEST(averages_and_factors_begin_and_end_with_the_exact_sum, 4)

/* Products in the order of the ranks: only so does none of them overflow. */
static void products_are_in_the_order_of_the_ranks(rank_context* me) {
    static const double factors[] = {0x1p1000, 0x1p-1000, 0x1p1000, 0x1p20, 0x1p-1000};
    tutti_group* const group = reproducible_group(me);
    double values[2000];
    for (int i = 0; i < 2000; ++i) values[i] = factors[me->rank];
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(values, 2000, TUTTI_FLOAT64);
    RANK_OK(me, tutti_all_reduce(group, NULL, &buffer, TUTTI_PRODUCT, NULL, NULL, &me->error));
    for (int i = 0; i < 2000; ++i) RANK_EXPECT(me, values[i] == 0x1p20);
    tutti_group_release(group);
}
RANK_TEST(products_are_in_the_order_of_the_ranks, 5)

static tutti_group* child_of(rank_context* me, tutti_group* parent, uint32_t choice) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    options.reproducible = choice;
    if (tutti_new_group(parent, NULL, 0, NULL, NULL, &options, &group, &me->error) != TUTTI_OK)
        rank_failed(me, __FILE__, __LINE__, "tutti_new_group", me->error.status);
    return group;
}

static void groups_of_groups_inherit_it_or_say_otherwise(rank_context* me) {
    tutti_group* const yes = child_of(me, me->group, TUTTI_REPRODUCIBLE);
    tutti_group* const as_yes = child_of(me, yes, TUTTI_AS_PARENT);
    tutti_group* const no = child_of(me, as_yes, TUTTI_NOT_REPRODUCIBLE);
    RANK_EXPECT(
        me, tutti_group_is_reproducible(me->group) == 0 && tutti_group_is_reproducible(yes) == 1);
    RANK_EXPECT(me,
                tutti_group_is_reproducible(as_yes) == 1 && tutti_group_is_reproducible(no) == 0);
    RANK_EXPECT(me, tutti_group_is_reproducible(NULL) == -1);
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    const int64_t shape[] = {1, 2};
    tutti_mesh* mesh = NULL;
    tutti_group* along = NULL;
    for (uint32_t wanted = 0; wanted < 2; ++wanted) {
        options.reproducible = wanted;
        RANK_OK(me, tutti_init_device_mesh(me->group, shape, 2, NULL, TUTTI_CPU, &options, &mesh,
                                           &me->error));
        RANK_OK(me, tutti_mesh_get_group(mesh, 1, &along, &me->error));
        RANK_EXPECT(me, tutti_group_is_reproducible(along) == (int32_t)wanted);
        tutti_group_release(along);
        tutti_mesh_release(mesh);
    }
    options.reproducible = 2;
    RANK_REFUSES(
        me,
        tutti_init_device_mesh(me->group, shape, 2, NULL, TUTTI_CPU, &options, &mesh, &me->error),
        "options.reproducible is 2; it must be 0 or 1");
    tutti_group_release(yes);
    tutti_group_release(as_yes);
    tutti_group_release(no);
}
RANK_TEST(groups_of_groups_inherit_it_or_say_otherwise, 2)

static void ranks_that_want_other_groups_of_groups_are_told(rank_context* me) {
    tutti_new_group_options options = TUTTI_NEW_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    options.reproducible = me->rank == 1 ? TUTTI_REPRODUCIBLE : TUTTI_AS_PARENT;
    RANK_STATUS(me, tutti_new_group(me->group, NULL, 0, NULL, NULL, &options, &group, &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "reproducible on");
    RANK_SAYS(me, "reproducible off");
    options.reproducible = me->rank == 2 ? 3 : TUTTI_REPRODUCIBLE;
    const tutti_status status =
        tutti_new_group(me->group, NULL, 0, NULL, NULL, &options, &group, &me->error);
    RANK_EXPECT(me, status == (me->rank == 2 ? TUTTI_ERR_INVALID_ARGUMENT : TUTTI_ERR_MISMATCH));
    RANK_SAYS(me, "options.reproducible is 3; it must be TUTTI_AS_PARENT (0)");
}
RANK_TEST(ranks_that_want_other_groups_of_groups_are_told, 3)

/* Every rank once more, in a group of its own making. */
static void ranks_that_differ_are_told_when_they_meet(rank_context* me) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    tutti_store* meeting = NULL;
    tutti_group* group = NULL;
    RANK_OK(me, tutti_prefix_store_create(me->store, "again", &meeting, &me->error));
    options.reproducible = me->rank == 2;
    RANK_STATUS(me,
                tutti_group_create(backend, meeting, NULL, me->rank, me->size, &options, &group,
                                   &me->error),
                TUTTI_ERR_MISMATCH);
    RANK_SAYS(me, "options.reproducible is 1 on rank 2 and 0 on rank 0");
    RANK_EXPECT(me, me->error.rank == 2 && group == NULL);
    RANK_OK(me, tutti_store_barrier(me->store, "told", me->size, NULL, &me->error));
    options.reproducible = 1;
    RANK_OK(me, tutti_group_create(backend, meeting, NULL, me->rank, me->size, &options, &group,
                                   &me->error));
    RANK_EXPECT(me, tutti_group_is_reproducible(group) == 1);
    RANK_OK(me, tutti_store_barrier(me->store, "made again", me->size, NULL, &me->error));
    tutti_group_release(group);
    tutti_store_release(meeting);
}
RANK_TEST(ranks_that_differ_are_told_when_they_meet, 4)

static void a_value_that_means_nothing_is_refused(rank_context* me) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    tutti_group* group = NULL;
    options.reproducible = 2;
    RANK_REFUSES(me,
                 tutti_group_create(backend, me->store, NULL, me->rank, me->size, &options, &group,
                                    &me->error),
                 "options.reproducible is 2; it must be 0 or 1");
}
RANK_TEST(a_value_that_means_nothing_is_refused, 1)

int main(int count, char** arguments) {
    const struct CMUnitTest tests[] = {
        TEST(sums_are_exact_over_any_number_of_ranks),
        TEST(sums_of_many_and_of_no_elements_are_exact),
        TEST(averages_and_factors_begin_and_end_with_the_exact_sum_on_ranks),
        TEST(products_are_in_the_order_of_the_ranks_on_ranks),
        TEST(groups_of_groups_inherit_it_or_say_otherwise_on_ranks),
        TEST(ranks_that_want_other_groups_of_groups_are_told_on_ranks),
        TEST(ranks_that_differ_are_told_when_they_meet_on_ranks),
        TEST(a_value_that_means_nothing_is_refused_on_ranks),
    };
    if (count > 1) backend = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
