/* Messages of more than 2^31 elements. The first argument is the backend. Skipped, and said so,
 * where less than 16 GiB of memory are free. */
#include <stdio.h>
#include <stdlib.h>

#include "support/contract.h"
#include "support/ranks.h"

static const char* backend = "loopback";

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

static void send_huge(rank_context* me) {
    unsigned char* data = (unsigned char*)calloc((size_t)huge, 1);
    RANK_EXPECT(me, data != NULL);
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(data, huge, TUTTI_UINT8);
    tutti_status status;
    int64_t wrong = 0;
    if (me->rank == 0) {
        for (int64_t i = 0; i < huge; i = next(i)) data[i] = pattern(i);
        for (int64_t i = huge - 100; i < huge; ++i) data[i] = pattern(i);
        status = tutti_send(me->group, &buffer, 1, 0, NULL, NULL, &me->error);
    } else {
        status = tutti_recv(me->group, &buffer, 0, 0, NULL, NULL, NULL, &me->error);
        for (int64_t i = 0; i < huge; i = next(i)) wrong += data[i] != pattern(i);
        for (int64_t i = huge - 100; i < huge; ++i) wrong += data[i] != pattern(i);
    }
    free(data);
    RANK_STATUS(me, status, TUTTI_OK);
    RANK_EXPECT(me, wrong == 0);
}

static void a_message_of_more_than_2_31_elements_arrives_whole(void** state) {
    (void)state;
    assert_int_equal(run_ranks(backend, 2, send_huge, NULL), 0);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {TEST(a_message_of_more_than_2_31_elements_arrives_whole)};
    if (argc > 1) backend = argv[1];
    if (free_kib() < needed_kib) {
        printf("skipped: %lld KiB of memory are free, and it takes %lld\n", (long long)free_kib(),
               (long long)needed_kib);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
