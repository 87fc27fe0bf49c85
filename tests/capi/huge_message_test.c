/* Messages and collectives of more than 2^31 elements. The first argument is the backend.
 * Skipped, and said so, where less than 16 GiB of memory are free. */
#include <stdio.h>
#include <stdlib.h>

#include "on_ranks.h"

enum { SKIPPED = 77, STRIDE = 65521 };
static const int64_t huge = ((int64_t)1 << 31) + 12345;
static const int64_t needed_kib = (int64_t)16 << 20;

static int64_t free_kib(void) {
    char line[200];
    long long kib = 0;
    FILE* file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1) break;
    }
    if (file != NULL) fclose(file);
    return kib;
}

static unsigned char pattern(int64_t index) {
    return (unsigned char)(1 + index % 251);
}

/* The first and last elements, and one of every few pages. */
static int64_t next(int64_t index) {
    return index < 100 || index >= huge - 100 ? index + 1 : index + STRIDE;
}

static void fill(unsigned char* data, int64_t shift) {
    for (int64_t i = 0; i < huge; i = next(i)) data[i] = pattern(i + shift);
    for (int64_t i = huge - 100; i < huge; ++i) data[i] = pattern(i + shift);
}

/* From every rank's pattern or from rank 0's alone. */
static int64_t count_wrong(const unsigned char* data, int are_summed) {
    int64_t wrong = 0;
    for (int pass = 0; pass < 2; ++pass) {
        for (int64_t i = pass == 0 ? 0 : huge - 100; i < huge; i = pass == 0 ? next(i) : i + 1) {
            const int sum = pattern(i) + (are_summed ? pattern(i + 1) : 0);
            wrong += data[i] != (unsigned char)sum;
        }
    }
    return wrong;
}

static void send_huge(rank_context* me) {
    unsigned char* data = (unsigned char*)calloc((size_t)huge, 1);
    RANK_EXPECT(me, data != NULL);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, huge, TUTTI_UINT8);
    if (me->rank == 0) fill(data, 0);
    const tutti_status status =
        me->rank == 0 ? tutti_send(me->group, &buffer, 1, 0, NULL, NULL, &me->error)
                      : tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, NULL, &me->error);
    const int64_t wrong = count_wrong(data, 0);
    free(data);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, wrong == 0);
}

static void a_message_of_more_than_2_31_elements_arrives_whole(void** state) {
    (void)state;
    RUN(2, send_huge);
}

static void move_huge(rank_context* me) {
    const int sums = *(const int*)me->user;
    unsigned char* data = (unsigned char*)calloc((size_t)huge, 1);
    RANK_EXPECT(me, data != NULL);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, huge, TUTTI_UINT8);
    if (sums || me->rank == 0) fill(data, me->rank);
    const tutti_status status =
        sums ? tutti_all_reduce(me->group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error)
             : tutti_broadcast(me->group, &buffer, 0, NULL, NULL, &me->error);
    const int64_t wrong = count_wrong(data, sums);
    free(data);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, wrong == 0);
}

static void a_broadcast_of_more_than_2_31_elements_arrives_whole(void** state) {
    int sums = 0;
    (void)state;
    RUN_WITH(2, move_huge, &sums);
}

static void an_all_reduce_of_more_than_2_31_elements_is_right(void** state) {
    int sums = 1;
    (void)state;
    RUN_WITH(2, move_huge, &sums);
}

/* Rank 0 has more than 2^31, rank 1 a few; each has a place in the other's list. */
static void gather_huge(rank_context* me) {
    unsigned char few[] = {0, 0, 0};
    unsigned char* data = (unsigned char*)calloc((size_t)huge, 1);
    RANK_EXPECT(me, data != NULL);
    const tutti_buffer outputs[2] = {TUTTI_BUFFER_INIT(data, huge, TUTTI_UINT8),
                                     TUTTI_BUFFER_INIT(few, 3, TUTTI_UINT8)};
    if (me->rank == 0) fill(data, 0);
    if (me->rank == 1) few[0] = few[1] = few[2] = 7;
    const tutti_status status =
        tutti_all_gather(me->group, NULL, outputs, 2, NULL, NULL, &me->error);
    const int64_t wrong = count_wrong(data, 0);
    free(data);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, wrong == 0 && few[0] == 7 && few[1] == 7 && few[2] == 7);
}

static void an_all_gather_of_more_than_2_31_elements_arrives_whole(void** state) {
    (void)state;
    RUN(2, gather_huge);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(a_message_of_more_than_2_31_elements_arrives_whole),
        TEST(a_broadcast_of_more_than_2_31_elements_arrives_whole),
        TEST(an_all_reduce_of_more_than_2_31_elements_is_right),
        TEST(an_all_gather_of_more_than_2_31_elements_arrives_whole),
    };
    if (argc > 1) backend = argv[1];
    if (free_kib() < needed_kib) {
        printf("skipped: %lld KiB of memory are free, and it takes %lld\n", (long long)free_kib(),
               (long long)needed_kib);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
