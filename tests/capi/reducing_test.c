/* reduce and reduce_scatter between ranks that are threads: each dtype, op, count, root and place
 * against the reference, and what they leave alone. The first argument is the backend. */
#include "on_ranks.h"
#include "support/elements.h"

enum { MOST_RANKS = 4, MOST_ELEMENTS = 300, MOST_BYTES = 16 * MOST_RANKS * MOST_ELEMENTS };
static const int64_t counts[] = {0, 1, 17, MOST_ELEMENTS};
enum { COUNTS = sizeof counts / sizeof *counts };

typedef struct elements {
    double whole[MOST_BYTES / 8]; /* aligned for any dtype */
} elements;

typedef void (*reduction)(rank_context* me, tutti_dtype dtype, tutti_reduce_op op, int64_t count);

/* Every dtype, op and count that there is. */
static void with_everything(rank_context* me, reduction reduce) {
    for (tutti_dtype dtype = 0; dtype < DTYPES; ++dtype) {
        for (tutti_reduce_op op = 0; op < REDUCE_OPS; ++op) {
            if (!is_reducible(dtype, op)) continue;
            for (int i = 0; i < COUNTS && !me->failed; ++i) reduce(me, dtype, op, counts[i]);
        }
    }
}

static void reduce_to_every_rank(rank_context* me, tutti_dtype dtype, tutti_reduce_op op,
                                 int64_t count) {
    elements in, out, before, untouched;
    const tutti_buffer input = TUTTI_BUFFER_INIT(&in, count, dtype);
    const tutti_buffer output = TUTTI_BUFFER_INIT(&out, count, dtype);
    memset(&in, 0, sizeof in);
    fill_elements(dtype, op, &in, me->rank, me->size, 0, count);
    before = in;
    memset(&untouched, 0x5a, sizeof untouched);
    for (int32_t root = 0; root < me->size; ++root) {
        const int mine = me->rank == root;
        out = untouched;
        RANK_OK(me, tutti_reduce(me->group, &input, mine || root % 2 == 0 ? &output : NULL, op,
                                 root, NULL, NULL, &me->error));
        RANK_EXPECT(me, !mine || is_reduction(dtype, op, &out, me->size, 0, count));
        RANK_EXPECT(me, mine || memcmp(&out, &untouched, sizeof out) == 0);
        RANK_EXPECT(me, memcmp(&in, &before, sizeof in) == 0);
        /* torch's way: one buffer, which only the destination's call changes. */
        RANK_OK(me, tutti_reduce(me->group, NULL, &input, op, root, NULL, NULL, &me->error));
        RANK_EXPECT(me, !mine || is_reduction(dtype, op, &in, me->size, 0, count));
        RANK_EXPECT(me, mine || memcmp(&in, &before, sizeof in) == 0);
        in = before;
    }
}

static void reduce_everything(rank_context* me) {
    with_everything(me, reduce_to_every_rank);
}

static void reduce_gives_the_destination_the_result_and_changes_nobody_else(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, reduce_everything);
}

static void reduce_scatter_tensors(rank_context* me, tutti_dtype dtype, tutti_reduce_op op,
                                   int64_t count) {
    elements in, out, before;
    const size_t bytes = (size_t)count * (size_t)tutti_dtype_size(dtype);
    const tutti_buffer input = TUTTI_BUFFER_INIT(&in, count * me->size, dtype);
    const tutti_buffer output = TUTTI_BUFFER_INIT(&out, count, dtype);
    memset(&in, 0, sizeof in);
    fill_elements(dtype, op, &in, me->rank, me->size, 0, count * me->size);
    before = in;
    RANK_OK(me,
            tutti_reduce_scatter_tensor(me->group, &input, &output, op, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_reduction(dtype, op, &out, me->size, me->rank * count, count));
    RANK_EXPECT(me, memcmp(&in, &before, sizeof in) == 0);
    char* part = (char*)&in + (size_t)me->rank * bytes;
    const tutti_buffer place = TUTTI_BUFFER_INIT(part, count, dtype);
    RANK_OK(me, tutti_reduce_scatter_tensor(me->group, &input, &place, op, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_reduction(dtype, op, part, me->size, me->rank * count, count));
    memcpy(part, (char*)&before + (size_t)me->rank * bytes, bytes);
    RANK_EXPECT(me, memcmp(&in, &before, sizeof in) == 0);
}

static void reduce_scatter_all_tensors(rank_context* me) {
    with_everything(me, reduce_scatter_tensors);
}

static void reduce_scatter_tensor_leaves_every_rank_its_part(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, reduce_scatter_all_tensors);
}

/* Rank r's piece has r / ranks of `most` elements, the first none. */
static void reduce_scatter_lists(rank_context* me, tutti_dtype dtype, tutti_reduce_op op,
                                 int64_t most) {
    elements in, out, before;
    tutti_buffer inputs[MOST_RANKS];
    int64_t begins[MOST_RANKS + 1] = {0};
    for (int32_t rank = 0; rank < me->size; ++rank) {
        const int64_t count = most * rank / me->size;
        const tutti_buffer input = TUTTI_BUFFER_INIT(
            (char*)&in + (size_t)begins[rank] * (size_t)tutti_dtype_size(dtype), count, dtype);
        inputs[rank] = input;
        begins[rank + 1] = begins[rank] + count;
    }
    const size_t ranks = (size_t)me->size;
    const tutti_buffer* mine = &inputs[me->rank];
    const tutti_buffer output = TUTTI_BUFFER_INIT(&out, mine->count, dtype);
    memset(&in, 0, sizeof in);
    fill_elements(dtype, op, &in, me->rank, me->size, 0, begins[me->size]);
    before = in;
    tutti_work* work = NULL;
    RANK_OK(me,
            tutti_reduce_scatter(me->group, inputs, ranks, &output, op, NULL, &work, &me->error));
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
    RANK_EXPECT(me, is_reduction(dtype, op, &out, me->size, begins[me->rank], mine->count));
    RANK_EXPECT(me, memcmp(&in, &before, sizeof in) == 0);
    RANK_OK(me, tutti_reduce_scatter(me->group, inputs, ranks, mine, op, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_reduction(dtype, op, mine->data, me->size, begins[me->rank], mine->count));
}

static void reduce_scatter_all_lists(rank_context* me) {
    with_everything(me, reduce_scatter_lists);
}

static void reduce_scatter_takes_pieces_of_any_size(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, reduce_scatter_all_lists);
}

/* One rank, whose calls must be refused before anything moves. */
static void refuse_everything(rank_context* me) {
    float data[12] = {1, 2, 3, 4};
    const tutti_buffer four = TUTTI_BUFFER_INIT(data, 4, TUTTI_FLOAT32);
    const tutti_buffer eight = TUTTI_BUFFER_INIT(data + 4, 8, TUTTI_FLOAT32);
    tutti_buffer list[2] = {four, four};
    tutti_group* group = me->group;
#define REFUSED(call, fragment) RANK_REFUSES(me, call, fragment)
    REFUSED(tutti_reduce(group, NULL, NULL, TUTTI_SUM, 0, NULL, NULL, &me->error),
            "tutti_reduce: output is NULL");
    REFUSED(tutti_reduce(group, &four, NULL, TUTTI_SUM, me->rank, NULL, NULL, &me->error),
            "output is NULL");
    REFUSED(tutti_reduce(group, &four, &four, TUTTI_SUM, 2, NULL, NULL, &me->error),
            "group_dst is 2");
    REFUSED(tutti_reduce(group, &four, &eight, TUTTI_SUM, 0, NULL, NULL, &me->error),
            "input.count is 4 but output.count is 8");
    REFUSED(tutti_reduce(group, &four, &four, 99, 0, NULL, NULL, &me->error), "op");
    REFUSED(tutti_reduce_scatter_tensor(group, NULL, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "input is NULL");
    REFUSED(tutti_reduce_scatter_tensor(group, &four, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "input.count is 4, not 2 ranks");
    REFUSED(tutti_reduce_scatter(group, NULL, 2, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "inputs is NULL");
    REFUSED(tutti_reduce_scatter(group, list, 1, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "input_count is 1, but the group has 2 ranks");
    REFUSED(tutti_reduce_scatter(group, list, -1, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "count is -1; it must be 0 or more");
    REFUSED(tutti_reduce_scatter(group, list, INT64_MAX, &four, TUTTI_SUM, NULL, NULL, &me->error),
            ", but the group has 2");
    REFUSED(tutti_reduce_scatter(group, list, 2, NULL, TUTTI_SUM, NULL, NULL, &me->error),
            "output is NULL");
    list[1].count = -7;
    REFUSED(tutti_reduce_scatter(group, list, 2, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "inputs[1].count is -7");
    list[1] = four, list[1].device_type = 3;
    REFUSED(tutti_reduce_scatter(group, list, 2, &four, TUTTI_SUM, NULL, NULL, &me->error),
            "inputs[1].device_type is 3, no known device type");
    list[1] = four, list[1].device_type = TUTTI_XPU;
    RANK_STATUS(me, tutti_reduce_scatter(group, list, 2, &four, TUTTI_SUM, NULL, NULL, &me->error),
                TUTTI_ERR_UNSUPPORTED);
    RANK_SAYS(me, "inputs[1].device_type is 12 (xpu): tutti has no backend for these devices");
    RANK_OK(me, tutti_barrier(group, NULL, NULL, &me->error)); /* the group is unharmed */
}

static void faults_of_arguments_are_named(void** state) {
    (void)state;
    RUN(2, refuse_everything);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(reduce_gives_the_destination_the_result_and_changes_nobody_else),
        TEST(reduce_scatter_tensor_leaves_every_rank_its_part),
        TEST(reduce_scatter_takes_pieces_of_any_size),
        TEST(faults_of_arguments_are_named),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
