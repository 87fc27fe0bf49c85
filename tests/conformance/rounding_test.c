/* Are sums and averages of float16 and bfloat16 accumulated in float32 and rounded once, on every
 * rank, whatever the number of ranks, the size and the place, alone and coalesced? The argument
 * names the backend. Every sum is exact in float32, so that its rounded value is known, and other
 * ways to it show: sums that are rounded on the way, or that overflow before they are divided. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/ranks.h"
#include "support/reference.h"

enum { MOST_RANKS = 8, PERIOD = 97, MOST = 1200000 };

typedef struct trial {
    tutti_dtype dtype;
    int op; /* of types.h, or FACTORS */
    int64_t count;
    enum kind { LARGE_AND_ONES, WIDE, EQUAL, ALIKE } kind;
} trial;

enum { FACTORS = TUTTI_PREMUL_SUM };

/* The input of a rank, before its factor. */
static double given(const trial* of, int32_t rank, int32_t size, int64_t index) {
    const int is_float16 = of->dtype == TUTTI_FLOAT16;
    const int64_t i = index % PERIOD;
    switch (of->kind) {
        case LARGE_AND_ONES: /* at another rank for each index */
            return (rank + i) % size != 0 ? 1 : is_float16 ? 2048 : 256;
        case WIDE: { /* as many bits as there are, of several sizes and either sign */
            const double mantissa = is_float16 ? 1025 : 129;
            const double power = (double)(1 << (2 * rank + 3 * i) % 5);
            const double value = (mantissa + (double)((31 * rank + 7 * i) % 64 * 2)) * power;
            return (rank * 5 + i) % 3 == 0 ? -value : value;
        }
        case ALIKE: /* the average of any number of them is there, the sum of two is not */
            return 60000;
        default:
            return is_float16 ? 10000 + 8 * (double)(i % 5) : 9984 + 64 * (double)(i % 5);
    }
}

static double factor_of(int32_t rank) {
    return rank % 2 == 0 ? 2 : 1;
}

static double wanted(const trial* of, int32_t size, int64_t index) {
    double sum = 0;
    for (int32_t rank = 0; rank < size; ++rank) {
        sum += given(of, rank, size, index) * (of->op == FACTORS ? factor_of(rank) : 1);
    }
    return of->op == TUTTI_AVG ? sum / size : sum;
}

/* Numbers from `first` on; of no rank: the result. */
static void fill(const trial* of, void* memory, int32_t rank, int32_t size, int64_t first,
                 int64_t count) {
    uint16_t* const to = (uint16_t*)memory;
    for (int64_t i = 0; i < count && i < PERIOD; ++i) {
        const double value =
            rank < 0 ? wanted(of, size, first + i) : given(of, rank, size, first + i);
        put_element(of->dtype, memory, i, real_number(value));
    }
    for (int64_t i = PERIOD; i < count; ++i) to[i] = to[i - PERIOD];
}

static int is_result(const rank_context* me, const trial* of, const void* memory, int64_t first,
                     int64_t count) {
    uint16_t period[PERIOD];
    const uint16_t* const got = (const uint16_t*)memory;
    fill(of, period, -1, me->size, first, PERIOD);
    for (int64_t i = 0; i < count; ++i) {
        if (got[i] == period[i % PERIOD]) continue;
        fprintf(stderr, "%s %s of %d ranks, kind %d, element %d of %d: %g, not %g\n",
                dtype_text(of->dtype), of->op == FACTORS ? "PREMUL_SUM" : reduce_op_text(of->op),
                (int)me->size, (int)of->kind, (int)i, (int)count,
                get_element(of->dtype, got, i).real,
                get_element(of->dtype, period, i % PERIOD).real);
        return 0;
    }
    return 1;
}

typedef struct bench {
    const trial* of;
    tutti_reduce_op op;
    uint16_t *input, *output;
} bench;

static tutti_buffer part_of(const bench* with, uint16_t* memory, int64_t begin, int64_t count) {
    const tutti_buffer part = TUTTI_BUFFER_INIT(memory + begin, count, with->of->dtype);
    return part;
}

static void all_reduce_rounds_once(rank_context* me, const bench* with) {
    const trial* const of = with->of;
    const tutti_buffer input = part_of(with, with->input, 0, of->count);
    const tutti_buffer output = part_of(with, with->output, 0, of->count);
    memset(with->output, 0x5a, (size_t)of->count * sizeof *with->output);
    RANK_OK(me, tutti_all_reduce(me->group, &input, &output, with->op, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_result(me, of, with->output, 0, of->count));
    memcpy(with->output, with->input, (size_t)of->count * sizeof *with->output);
    tutti_work* work = NULL;
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &output, with->op, NULL, &work, &me->error));
    const tutti_status status = tutti_work_wait(work, 0, &me->error);
    tutti_work_release(work);
    RANK_OK(me, status);
    RANK_EXPECT(me, is_result(me, of, with->output, 0, of->count));
}

static void reduce_rounds_once(rank_context* me, const bench* with) {
    const trial* const of = with->of;
    const tutti_buffer input = part_of(with, with->input, 0, of->count);
    const tutti_buffer output = part_of(with, with->output, 0, of->count);
    const int32_t root = (int32_t)(of->count % me->size);
    memcpy(with->output, with->input, (size_t)of->count * sizeof *with->output);
    RANK_OK(me, tutti_reduce(me->group, me->rank == root ? NULL : &input,
                             me->rank == root ? &output : NULL, with->op, root, NULL, NULL,
                             &me->error));
    RANK_EXPECT(me, me->rank != root || is_result(me, of, with->output, 0, of->count));
}

/* Into the rank's own part of the input for every other rank; then pieces of uneven sizes, of which
 * the first rank has none. */
static void reduce_scatter_rounds_once(rank_context* me, const bench* with) {
    const trial* const of = with->of;
    const int64_t each = of->count / me->size, begin = me->rank * each;
    memcpy(with->output, with->input, (size_t)of->count * sizeof *with->output);
    const tutti_buffer whole = part_of(with, with->output, 0, each * me->size);
    const tutti_buffer mine = part_of(with, with->output, begin, each);
    RANK_OK(me, tutti_reduce_scatter_tensor(me->group, &whole, &mine, with->op, NULL, NULL,
                                            &me->error));
    RANK_EXPECT(me, is_result(me, of, with->output + begin, begin, each));
    tutti_buffer inputs[MOST_RANKS];
    int64_t next = 0, my_begin = 0, my_count = 0;
    for (int32_t rank = 0; rank < me->size; ++rank) {
        const int64_t count = rank == me->size - 1 ? of->count - next : rank == 0 ? 0 : each / 2;
        inputs[rank] = part_of(with, with->input, next, count);
        if (rank == me->rank) my_begin = next, my_count = count;
        next += count;
    }
    const tutti_buffer output = part_of(with, with->output, 0, my_count);
    RANK_OK(me, tutti_reduce_scatter(me->group, inputs, (unsigned short)me->size, &output, with->op,
                                     NULL, NULL, &me->error));
    RANK_EXPECT(me, is_result(me, of, with->output, my_begin, my_count));
}

/* Calls that share messages where they are short: of parts of what is reduced otherwise. */
static void coalesced_calls_round_once(rank_context* me, const bench* with) {
    const trial* const of = with->of;
    const int64_t first = of->count / 3, each = of->count / (2 * me->size);
    tutti_group* together = NULL;
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &together, &me->error));
    for (int part = 0; part < 2; ++part) {
        const int64_t begin = part == 0 ? 0 : first, count = part == 0 ? first : of->count - first;
        const tutti_buffer input = part_of(with, with->input, begin, count);
        const tutti_buffer output = part_of(with, with->output, begin, count);
        memset(output.data, 0x5a, (size_t)count * sizeof *with->output);
        RANK_OK(me, tutti_all_reduce(together, &input, &output, with->op, NULL, NULL, &me->error));
    }
    RANK_OK(me, tutti_coalescing_end(together, NULL, NULL, &me->error));
    RANK_EXPECT(me, is_result(me, of, with->output, 0, of->count));
    RANK_OK(me, tutti_coalescing_begin(me->group, NULL, &together, &me->error));
    for (int part = 0; part < 2; ++part) {
        const tutti_buffer input =
            part_of(with, with->input, part * each * me->size, each * me->size);
        const tutti_buffer output = part_of(with, with->output, part * each, each);
        memset(output.data, 0x5a, (size_t)each * sizeof *with->output);
        RANK_OK(me, tutti_reduce_scatter_tensor(together, &input, &output, with->op, NULL, NULL,
                                                &me->error));
    }
    RANK_OK(me, tutti_coalescing_end(together, NULL, NULL, &me->error));
    for (int part = 0; part < 2; ++part) {
        const int64_t begin = (part * me->size + me->rank) * each;
        RANK_EXPECT(me, is_result(me, of, with->output + part * each, begin, each));
    }
}

static void make_op(rank_context* me, bench* with) {
    const double factor = factor_of(me->rank);
    const tutti_buffer one = TUTTI_BUFFER_INIT((void*)&factor, 1, TUTTI_FLOAT64);
    with->op = (tutti_reduce_op)with->of->op;
    if (with->of->op == FACTORS) {
        RANK_OK(me, tutti_reduce_op_create_premul_sum(&one, &with->op, &me->error));
    }
}

static void try_it(rank_context* me, const trial* of, unsigned char* memory, size_t room) {
    bench with;
    memset(&with, 0, sizeof with);
    with.of = of;
    with.input = (uint16_t*)memory;
    with.output = (uint16_t*)(memory + room / 2);
    if (!me->failed) make_op(me, &with);
    fill(of, with.input, me->rank, me->size, 0, of->count);
    if (!me->failed) all_reduce_rounds_once(me, &with);
    if (!me->failed) reduce_rounds_once(me, &with);
    if (!me->failed) reduce_scatter_rounds_once(me, &with);
    if (!me->failed) coalesced_calls_round_once(me, &with);
    tutti_reduce_op_release(with.op);
}

static int is_tried(const trial* of, int32_t size) {
    if (of->kind == ALIKE) {
        return of->dtype == TUTTI_FLOAT16 && of->op == TUTTI_AVG && of->count <= 9001;
    }
    if (of->count > 100000 && of->kind != WIDE) return 0;
    return size != 4 && size != 6 && size != 7; /* which say nothing that the others do not */
}

static void try_all(rank_context* me) {
    static const int64_t counts[] = {0, 1, 5, 100, 1000, 9001, 40000, 150001, MOST};
    static const tutti_dtype dtypes[] = {TUTTI_FLOAT16, TUTTI_BFLOAT16};
    static const int ops[] = {TUTTI_SUM, TUTTI_AVG, FACTORS};
    static const enum kind kinds[] = {LARGE_AND_ONES, WIDE, EQUAL, ALIKE};
    const size_t room = 2 * MOST * sizeof(uint16_t);
    unsigned char* const memory = (unsigned char*)malloc(room);
    if (memory == NULL) abort();
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        for (size_t d = 0; d < 2; ++d) {
            for (size_t o = 0; o < 3; ++o) {
                for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
                    const trial of = {dtypes[d], ops[o], counts[c], kinds[k]};
                    if (!me->failed && is_tried(&of, me->size)) try_it(me, &of, memory, room);
                }
            }
        }
    }
    free(memory);
}

int main(int argc, char** argv) {
    const char* const backend = argc > 1 ? argv[1] : "loopback";
    int failed = 0;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) {
        failed += run_ranks(backend, size, try_all, NULL);
    }
    return failed == 0 ? 0 : 1;
}
