/* Data of any size on devices: none, one byte, many stages, pieces of different sizes. The first
 * argument is the backend; "huge" as the second one: only more than 2^31 bytes. */
#include <stdlib.h>
#include <unistd.h>

#include "capi/on_ranks.h"
#include "on_devices.h"

enum { MOST_RANKS = 4 };

static void move_nothing(rank_context* me) {
    const int32_t device = use_device(me);
    const tutti_buffer nothing = on_cuda(device, NULL, 0, TUTTI_FLOAT32);
    const tutti_buffer list[MOST_RANKS] = {nothing, nothing, nothing, nothing};
    const int64_t splits[MOST_RANKS] = {0, 0, 0, 0};
    const int32_t peer = 1 - me->rank;
    tutti_group* const group = me->group;
    tutti_error* const fault = &me->error;
    tutti_work* work = NULL;
    RANK_OK(me, tutti_broadcast(group, &nothing, 0, NULL, NULL, fault));
    RANK_OK(me, tutti_all_reduce(group, NULL, &nothing, TUTTI_SUM, NULL, NULL, fault));
    RANK_OK(me, tutti_reduce(group, &nothing, &nothing, TUTTI_SUM, 0, NULL, NULL, fault));
    RANK_OK(me, tutti_all_gather(group, &nothing, list, me->size, NULL, NULL, fault));
    RANK_OK(me, tutti_all_gather_into_tensor(group, &nothing, &nothing, NULL, NULL, fault));
    RANK_OK(me, tutti_all_to_all(group, list, me->size, list, me->size, NULL, NULL, fault));
    RANK_OK(me, tutti_all_to_all_single(group, &nothing, splits, me->size, &nothing, splits,
                                        me->size, NULL, NULL, fault));
    RANK_OK(me, tutti_send(group, &nothing, peer, 0, NULL, &work, fault));
    RANK_OK(me, tutti_recv(group, &nothing, peer, 0, NULL, NULL, NULL, fault));
    RANK_OK(me, tutti_work_wait(work, 0, fault));
    tutti_work_release(work);
}

RANK_TEST(move_nothing, 2)

static void move_a_byte(rank_context* me) {
    const int32_t device = use_device(me);
    unsigned char* const bytes = (unsigned char*)cuda_alloc(16);
    unsigned char here[16];
    const tutti_buffer own = on_cuda(device, bytes + 3, 1, TUTTI_UINT8);
    const tutti_buffer all = on_cuda(device, bytes + 5, me->size, TUTTI_UINT8);
    memset(here, 7, sizeof here);
    here[3] = (unsigned char)(me->rank + 1);
    cuda_copy_in(bytes, here, sizeof here);
    RANK_OK(me, tutti_all_gather_into_tensor(me->group, &own, &all, NULL, NULL, &me->error));
    RANK_OK(me, tutti_all_reduce(me->group, NULL, &own, TUTTI_SUM, NULL, NULL, &me->error));
    cuda_copy_out(here, bytes, sizeof here);
    RANK_EXPECT(me, here[3] == me->size * (me->size + 1) / 2);
    for (int32_t i = 0; i < 16; ++i) {
        const int is_rank = i >= 5 && i < 5 + me->size;
        RANK_EXPECT(me, i == 3 || here[i] == (is_rank ? i - 4 : 7));
    }
    cuda_free(bytes);
}

RANK_TEST(move_a_byte, 3)

/* Around the ends of stages, and long enough for many of them. */
static void move_much(rank_context* me) {
    static const int64_t counts[] = {524287, 524288, 524289, 1600001, 26214400};
    const int32_t device = use_device(me);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const int64_t count = counts[i];
        int32_t* const numbers = numbers_of(count, me->rank + 1);
        const tutti_buffer buffer = on_cuda(device, numbers, count, TUTTI_INT32);
        RANK_OK(me, add_up(me, &buffer, NULL, NULL));
        RANK_EXPECT(me, all_are(numbers, count, me->size * (me->size + 1) / 2));
        RANK_OK(me, tutti_broadcast(me->group, &buffer, 1, NULL, NULL, &me->error));
        cuda_free(numbers);
    }
}

RANK_TEST(move_much, 2)

/* The elements from rank r to rank s: some nothing, some more than a stage. */
static int64_t share_of(int32_t from, int32_t to) {
    static const int64_t shares[] = {0, 1, 700001, 33, 250000, 4096, 0, 900000};
    return shares[(3 * from + 5 * to) % 8];
}

static void gather_pieces_of_different_sizes(rank_context* me) {
    const int32_t device = use_device(me);
    tutti_buffer outputs[MOST_RANKS];
    int32_t* pieces[MOST_RANKS];
    for (int32_t rank = 0; rank < me->size; ++rank) {
        const int64_t count = share_of(rank, 0);
        pieces[rank] = numbers_of(count + 1, rank == me->rank ? rank : -1);
        outputs[rank] = on_cuda(device, pieces[rank], count, TUTTI_INT32);
    }
    RANK_OK(me, tutti_all_gather(me->group, NULL, outputs, me->size, NULL, NULL, &me->error));
    for (int32_t rank = 0; rank < me->size; ++rank) {
        const int64_t count = share_of(rank, 0);
        RANK_EXPECT(me, all_are(pieces[rank], count, rank));
        RANK_EXPECT(me, all_are(pieces[rank] + count, 1, rank == me->rank ? rank : -1));
        cuda_free(pieces[rank]);
    }
}

RANK_TEST(gather_pieces_of_different_sizes, 4)

static void exchange_pieces_of_different_sizes(rank_context* me) {
    const int32_t device = use_device(me);
    int64_t given[MOST_RANKS], taken[MOST_RANKS], all_given = 0, all_taken = 0;
    for (int32_t rank = 0; rank < me->size; ++rank) {
        given[rank] = share_of(me->rank, rank);
        taken[rank] = share_of(rank, me->rank);
        all_given += given[rank];
        all_taken += taken[rank];
    }
    int32_t* const from = numbers_of(all_given + 1, me->rank);
    int32_t* const to = numbers_of(all_taken + 1, -1);
    const tutti_buffer input = on_cuda(device, from, all_given, TUTTI_INT32);
    const tutti_buffer output = on_cuda(device, to, all_taken, TUTTI_INT32);
    RANK_OK(me, tutti_all_to_all_single(me->group, &input, given, me->size, &output, taken,
                                        me->size, NULL, NULL, &me->error));
    int64_t begin = 0;
    for (int32_t rank = 0; rank < me->size; begin += taken[rank++]) {
        RANK_EXPECT(me, all_are(to + begin, taken[rank], rank));
    }
    RANK_EXPECT(me, all_are(to + begin, 1, -1));
    cuda_free(from);
    cuda_free(to);
}

RANK_TEST(exchange_pieces_of_different_sizes, 4)

/* No copy may reach from one of two neighbouring allocations into the other. */
static void gather_into_neighbours(rank_context* me) {
    enum { COUNT = 128, MANY = 64 };
    const int32_t device = use_device(me);
    int32_t *all[MANY], *first = NULL, *second = NULL;
    for (int i = 0; i < MANY; ++i) all[i] = numbers_of(COUNT, -1);
    for (int i = 0; i < MANY; ++i) {
        for (int j = 0; j < MANY; ++j) {
            if (all[j] == all[i] + COUNT) first = all[i], second = all[j];
        }
    }
    if (first == NULL) first = all[0], second = all[1]; /* the double has no neighbours */
    int32_t* const own = numbers_of(COUNT, me->rank);
    const tutti_buffer input = on_cuda(device, own, COUNT, TUTTI_INT32);
    const tutti_buffer outputs[2] = {on_cuda(device, first, COUNT, TUTTI_INT32),
                                     on_cuda(device, second, COUNT, TUTTI_INT32)};
    RANK_OK(me, tutti_all_gather(me->group, &input, outputs, 2, NULL, NULL, &me->error));
    RANK_EXPECT(me, all_are(first, COUNT, 0) && all_are(second, COUNT, 1));
    for (int i = 0; i < MANY; ++i) cuda_free(all[i]);
    cuda_free(own);
}

RANK_TEST(gather_into_neighbours, 2)

static void move_more_than_an_int_counts(rank_context* me) {
    const int32_t device = use_device(me);
    const size_t bytes = ((size_t)1 << 31) + 4099;
    unsigned char* const memory = (unsigned char*)cuda_alloc(bytes);
    const tutti_buffer buffer = on_cuda(device, memory, (int64_t)bytes, TUTTI_UINT8);
    unsigned char end[2] = {0, 0};
    cuda_fill(memory, me->rank == 0 ? 5 : 0, bytes, NULL);
    RANK_OK(me, tutti_broadcast(me->group, &buffer, 0, NULL, NULL, &me->error));
    cuda_copy_out(&end[0], memory, 1);
    cuda_copy_out(&end[1], memory + bytes - 1, 1);
    RANK_EXPECT(me, end[0] == 5 && end[1] == 5);
    cuda_fill(memory, me->rank == 0 ? 6 : 0, bytes, NULL);
    cuda_wait(NULL);
    if (me->rank == 0) {
        RANK_OK(me, tutti_send(me->group, &buffer, 1, 0, NULL, NULL, &me->error));
    } else {
        RANK_OK(me, tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, NULL, &me->error));
    }
    cuda_copy_out(&end[1], memory + bytes - 1, 1);
    RANK_EXPECT(me, end[1] == 6);
    cuda_free(memory);
}

RANK_TEST(move_more_than_an_int_counts, 2)

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(move_nothing_on_ranks),
        TEST(move_a_byte_on_ranks),
        TEST(move_much_on_ranks),
        TEST(gather_pieces_of_different_sizes_on_ranks),
        TEST(exchange_pieces_of_different_sizes_on_ranks),
        TEST(gather_into_neighbours_on_ranks),
    };
    const struct CMUnitTest huge[] = {TEST(move_more_than_an_int_counts_on_ranks)};
    if (argc > 1) backend = argv[1];
    const int skipped = without_device();
    if (skipped != 0) return skipped;
    if (argc > 2) {
        const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
        if ((double)pages * (double)size < 14e9) {
            printf("skipped: there is too little memory\n");
            return 77;
        }
        return cmocka_run_group_tests(huge, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
