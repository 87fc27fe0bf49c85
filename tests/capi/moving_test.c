/* The collectives that move data, between ranks that are threads: even and uneven, in place and
 * not, at once and as works, and what they refuse. The first argument is the backend. */
#include "on_ranks.h"

enum { MOST_RANKS = 4, MOST_ELEMENTS = 1000 };
static const int64_t counts[] = {0, 1, 17, MOST_ELEMENTS};
enum { COUNTS = sizeof counts / sizeof *counts };

/* A row of pieces, one for each rank, and what lies around them. */
typedef struct row {
    int32_t before[4];
    int32_t pieces[MOST_RANKS * MOST_ELEMENTS];
    int32_t after[4];
} row;

static void clear(row* memory) {
    memset(memory, 0x5a, sizeof *memory);
}

static int32_t value(int32_t from, int32_t to, int64_t index) {
    return (int32_t)(from * 1000003 + to * 10007 + index);
}

static void put(int32_t* piece, int32_t from, int32_t to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) piece[i] = value(from, to, i);
}

static int holds(const int32_t* piece, int32_t from, int32_t to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        if (piece[i] != value(from, to, i)) return 0;
    }
    return 1;
}

static int is_untouched_outside(const row* memory, int64_t used) {
    const unsigned char* bytes = (const unsigned char*)memory;
    for (size_t i = 0; i < sizeof *memory; ++i) {
        const size_t begin = sizeof memory->before;
        if (i >= begin && i < begin + (size_t)used * sizeof(int32_t)) continue;
        if (bytes[i] != 0x5a) return 0;
    }
    return 1;
}

/* Pieces one after the other, one for each rank. */
typedef struct layout {
    int64_t counts[MOST_RANKS], begins[MOST_RANKS], all;
    tutti_buffer buffers[MOST_RANKS];
} layout;

static void lay_out(layout* out, row* memory, int32_t ranks, const int64_t* piece_counts) {
    out->all = 0;
    for (int32_t rank = 0; rank < ranks; ++rank) {
        const tutti_buffer buffer =
            TUTTI_BUFFER_INIT(memory->pieces + out->all, piece_counts[rank], TUTTI_INT32);
        out->buffers[rank] = buffer;
        out->counts[rank] = piece_counts[rank];
        out->begins[rank] = out->all;
        out->all += piece_counts[rank];
    }
}

/* Waits for the work of a call, if it was given one. */
static void finish(rank_context* me, tutti_work* work) {
    if (work == NULL) return;
    RANK_OK(me, tutti_work_wait(work, 0, &me->error));
    tutti_work_release(work);
}

static void gather_pieces(rank_context* me, const int64_t* piece_counts, int in_place) {
    static const int background[] = {0, 1};
    for (int turn = 0; turn < 2; ++turn) {
        row memory;
        layout out;
        int32_t mine[MOST_ELEMENTS];
        tutti_work* work = NULL;
        clear(&memory);
        lay_out(&out, &memory, me->size, piece_counts);
        const int64_t own = piece_counts[me->rank];
        const tutti_buffer input = TUTTI_BUFFER_INIT(mine, own, TUTTI_INT32);
        put(in_place ? memory.pieces + out.begins[me->rank] : mine, me->rank, 0, own);
        const tutti_buffer* from = in_place ? turn == 0 ? NULL : &out.buffers[me->rank] : &input;
        RANK_OK(me, tutti_all_gather(me->group, from, out.buffers, (size_t)me->size, NULL,
                                     background[turn] ? &work : NULL, &me->error));
        finish(me, work);
        for (int32_t rank = 0; rank < me->size; ++rank) {
            RANK_EXPECT(me, holds(memory.pieces + out.begins[rank], rank, 0, out.counts[rank]));
        }
        RANK_EXPECT(me, is_untouched_outside(&memory, out.all));
    }
}

static void gather_on_all(rank_context* me) {
    for (int i = 0; i < COUNTS && !me->failed; ++i) {
        const int64_t even[] = {counts[i], counts[i], counts[i], counts[i]};
        const int64_t uneven[] = {counts[i], 0, counts[i] / 2, counts[i]};
        for (int in_place = 0; in_place < 2; ++in_place) {
            gather_pieces(me, even, in_place);
            gather_pieces(me, uneven, in_place);
        }
    }
}

static void all_gather_gives_every_rank_every_piece(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, gather_on_all);
}

static void gather_tensors(rank_context* me) {
    for (int i = 0; i < COUNTS; ++i) {
        for (int in_place = 0; in_place < 3; ++in_place) {
            row memory;
            int32_t mine[MOST_ELEMENTS];
            clear(&memory);
            int32_t* place = memory.pieces + me->rank * counts[i];
            put(in_place ? place : mine, me->rank, 0, counts[i]);
            const tutti_buffer input =
                TUTTI_BUFFER_INIT(in_place ? place : mine, counts[i], TUTTI_INT32);
            const tutti_buffer output =
                TUTTI_BUFFER_INIT(memory.pieces, me->size * counts[i], TUTTI_INT32);
            RANK_OK(me, tutti_all_gather_into_tensor(me->group, in_place == 2 ? NULL : &input,
                                                     &output, NULL, NULL, &me->error));
            for (int32_t rank = 0; rank < me->size; ++rank) {
                RANK_EXPECT(me, holds(memory.pieces + rank * counts[i], rank, 0, counts[i]));
            }
            RANK_EXPECT(me, is_untouched_outside(&memory, output.count));
        }
    }
}

static void all_gather_into_tensor_puts_the_inputs_in_a_row(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, gather_tensors);
}

static void gather_and_scatter(rank_context* me, int32_t root, int64_t count, int in_place) {
    const int64_t even[] = {count, count, count, count};
    const int is_root = me->rank == root;
    const size_t ranks = is_root ? (size_t)me->size : 0;
    row memory;
    layout list;
    int32_t mine[MOST_ELEMENTS];
    clear(&memory);
    lay_out(&list, &memory, me->size, even);
    int32_t* own = is_root && in_place ? memory.pieces + list.begins[root] : mine;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(own, count, TUTTI_INT32);
    const tutti_buffer* single = is_root && in_place == 2 ? NULL : &buffer;
    put(own, me->rank, root, count);
    RANK_OK(me, tutti_gather(me->group, single, is_root ? list.buffers : NULL, ranks, root, NULL,
                             NULL, &me->error));
    for (int32_t rank = 0; is_root && rank < me->size; ++rank) {
        RANK_EXPECT(me, holds(memory.pieces + list.begins[rank], rank, root, count));
        put(memory.pieces + list.begins[rank], root, rank, count);
    }
    RANK_EXPECT(me, is_untouched_outside(&memory, is_root ? list.all : 0));
    RANK_OK(me, tutti_scatter(me->group, is_root ? list.buffers : NULL, ranks, single, root, NULL,
                              NULL, &me->error));
    RANK_EXPECT(me, holds(own, root, me->rank, count));
    for (int32_t rank = 0; is_root && rank < me->size; ++rank) {
        RANK_EXPECT(me, holds(memory.pieces + list.begins[rank], root, rank, count));
    }
}

static void gather_and_scatter_everything(rank_context* me) {
    for (int32_t root = 0; root < me->size; ++root) {
        for (int i = 0; i < COUNTS; ++i) {
            for (int in_place = 0; in_place < 3 && !me->failed; ++in_place) {
                gather_and_scatter(me, root, counts[i], in_place);
            }
        }
    }
}

static void gather_and_scatter_speak_with_their_root_only(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, gather_and_scatter_everything);
}

/* The data from rank `from` to rank `to`. */
static int64_t count_between(int32_t from, int32_t to, int64_t most, int even) {
    return even ? most / MOST_RANKS : most * ((from + 2 * to) % 3) / (2 * MOST_RANKS);
}

static void exchange(rank_context* me, int64_t most, int even, int in_place) {
    row given, taken;
    layout in, out;
    int64_t in_counts[MOST_RANKS], out_counts[MOST_RANKS];
    clear(&given);
    clear(&taken);
    for (int32_t rank = 0; rank < me->size; ++rank) {
        in_counts[rank] = count_between(me->rank, rank, most, even);
        out_counts[rank] = count_between(rank, me->rank, most, even);
    }
    lay_out(&in, &given, me->size, in_counts);
    lay_out(&out, &taken, me->size, out_counts);
    row* source = in_place ? &taken : &given;
    const size_t ranks = (size_t)me->size;
    for (int single = 0; single < 2; ++single) {
        const tutti_buffer input = TUTTI_BUFFER_INIT(given.pieces, in.all, TUTTI_INT32);
        const tutti_buffer output = TUTTI_BUFFER_INIT(taken.pieces, out.all, TUTTI_INT32);
        const size_t splits = even ? 0 : ranks;
        tutti_work* work = NULL;
        for (int32_t rank = 0; rank < me->size; ++rank) {
            put(source->pieces + in.begins[rank], me->rank, rank, in_counts[rank]);
        }
        if (single) {
            RANK_OK(me, tutti_all_to_all_single(
                            me->group, in_place ? NULL : &input, even ? NULL : in_counts, splits,
                            &output, even ? NULL : out_counts, splits, NULL, &work, &me->error));
        } else {
            RANK_OK(me,
                    tutti_all_to_all(me->group, in_place ? NULL : in.buffers, in_place ? 0 : ranks,
                                     out.buffers, ranks, NULL, &work, &me->error));
        }
        finish(me, work);
        for (int32_t rank = 0; rank < me->size; ++rank) {
            RANK_EXPECT(me,
                        holds(taken.pieces + out.begins[rank], rank, me->rank, out_counts[rank]));
        }
        RANK_EXPECT(me, is_untouched_outside(&taken, out.all));
    }
}

static void exchange_everything(rank_context* me) {
    for (int i = 0; i < COUNTS; ++i) {
        exchange(me, counts[i], 1, 0);
        exchange(me, counts[i], 1, 1);
        exchange(me, counts[i], 0, 0);
    }
}

static void all_to_all_gives_every_rank_its_pieces(void** state) {
    (void)state;
    for (int32_t size = 1; size <= MOST_RANKS; ++size) RUN(size, exchange_everything);
}

static void refuse_everything(rank_context* me) {
    int32_t data[20] = {0};
    const tutti_buffer two = TUTTI_BUFFER_INIT(data, 2, TUTTI_INT32);
    const tutti_buffer four = TUTTI_BUFFER_INIT(data + 4, 4, TUTTI_INT32);
    const tutti_buffer three = TUTTI_BUFFER_INIT(data + 8, 3, TUTTI_INT32);
    const tutti_buffer list[2] = {TUTTI_BUFFER_INIT(data + 12, 2, TUTTI_INT32),
                                  TUTTI_BUFFER_INIT(data + 14, 2, TUTTI_INT32)};
    const int64_t splits[2] = {1, 3};
    tutti_group* group = me->group;
    tutti_error* said = &me->error;
#define REFUSED(call, fragment) RANK_REFUSES(me, call, fragment)
    REFUSED(tutti_all_gather(group, &two, NULL, 2, NULL, NULL, said),
            "tutti_all_gather: outputs is NULL");
    REFUSED(tutti_all_gather(group, &two, list, 1, NULL, NULL, said), "output_count is 1");
    REFUSED(tutti_all_gather(group, NULL, list, 0, NULL, NULL, said), "output_count is 0");
    REFUSED(tutti_all_gather(group, &two, list, -1, NULL, NULL, said),
            "count is -1; it must be 0 or more");
    REFUSED(tutti_all_gather(group, &two, list, INT64_MAX, NULL, NULL, said),
            ", but the group has 2");
    REFUSED(tutti_all_gather(group, &four, list, 2, NULL, NULL, said), "input.count is 4");
    REFUSED(tutti_all_gather_into_tensor(group, &two, &three, NULL, NULL, said),
            "output.count is 3, not 2 ranks");
    REFUSED(tutti_all_gather_into_tensor(group, NULL, &three, NULL, NULL, said),
            "output.count is 3, which 2 ranks cannot share equally");
    REFUSED(tutti_all_gather_into_tensor(group, NULL, NULL, NULL, NULL, said), "output is NULL");
    REFUSED(tutti_gather(group, &two, list, 2, 5, NULL, NULL, said), "group_dst is 5");
    REFUSED(tutti_gather(group, &two, list, 2, 1 - me->rank, NULL, NULL, said),
            "outputs must be NULL");
    REFUSED(tutti_gather(group, NULL, NULL, 0, 1 - me->rank, NULL, NULL, said), "input is NULL");
    REFUSED(tutti_gather(group, NULL, NULL, 0, me->rank, NULL, NULL, said), "output_count is 0");
    REFUSED(tutti_scatter(group, list, 2, &two, 1 - me->rank, NULL, NULL, said),
            "inputs must be NULL");
    REFUSED(tutti_scatter(group, NULL, 0, NULL, 1 - me->rank, NULL, NULL, said), "output is NULL");
    REFUSED(tutti_scatter(group, NULL, 0, NULL, me->rank, NULL, NULL, said), "input_count is 0");
    REFUSED(tutti_scatter(group, list, -1, NULL, me->rank, NULL, NULL, said),
            "count is -1; it must be 0 or more");
    REFUSED(tutti_scatter(group, list, INT64_MAX, NULL, me->rank, NULL, NULL, said),
            ", but the group has 2");
    REFUSED(tutti_gather(group, &two, list, 3, me->rank, NULL, NULL, said), "output_count is 3");
    REFUSED(tutti_all_to_all(group, list, 3, list, 2, NULL, NULL, said), "input_count is 3");
    REFUSED(tutti_all_to_all(group, list, 2, NULL, 0, NULL, NULL, said), "output_count is 0");
    REFUSED(tutti_all_to_all(group, list, 0, list, 2, NULL, NULL, said), "input_count is 0");
    REFUSED(tutti_all_to_all_single(group, &four, splits, 1, &four, NULL, 0, NULL, NULL, said),
            "input_split_sizes has 1 sizes, but the group has 2 ranks");
    REFUSED(tutti_all_to_all_single(group, &four, NULL, 2, &four, NULL, 0, NULL, NULL, said),
            "input_split_sizes is NULL");
    REFUSED(tutti_all_to_all_single(group, &four, NULL, 0, &two, splits, 2, NULL, NULL, said),
            "output_split_sizes add up to more");
    REFUSED(tutti_all_to_all_single(group, NULL, NULL, 0, &three, NULL, 0, NULL, NULL, said),
            "input.count is 3, which 2 ranks cannot share equally");
    RANK_OK(me, tutti_barrier(group, NULL, NULL, said)); /* the group is unharmed */
}

static void faults_of_arguments_are_named(void** state) {
    (void)state;
    RUN(2, refuse_everything);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(all_gather_gives_every_rank_every_piece),
        TEST(all_gather_into_tensor_puts_the_inputs_in_a_row),
        TEST(gather_and_scatter_speak_with_their_root_only),
        TEST(all_to_all_gives_every_rank_its_pieces),
        TEST(faults_of_arguments_are_named),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
