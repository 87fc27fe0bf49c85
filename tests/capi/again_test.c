/* Groups one after the other at one address, without a pause: a rank that is early meets the store
 * of the group before, whose server is about to end. The ranks are processes: this program,
 * executed again. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"
#include "support/held_port.h"

enum { RANKS = 3, ROUNDS = 60 };

static int make_and_end(const char* backend, const char* url, int rank, int64_t round) {
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = 30000;
    if (tutti_init_process_group(backend, url, NULL, rank, RANKS, &options, &error)) return 0;
    int64_t number = round * RANKS + rank;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&number, 1, TUTTI_INT64);
    if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error)) return 0;
    if (tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error)) return 0;
    return number == round * RANKS * RANKS + RANKS * (RANKS - 1) / 2;
}

static int be_rank(const char* backend, const char* url, int rank) {
    for (int round = 0; round < ROUNDS; ++round) {
        if (make_and_end(backend, url, rank, round)) continue;
        (void)fprintf(stderr, "%s, round %d, rank %d: %s\n", backend, round, rank, error.message);
        return 1;
    }
    return 0;
}

static void rounds_over(const char* backend) {
    const held_port port = hold_port();
    char url[64];
    pid_t ranks[RANKS];
    (void)snprintf(url, sizeof url, "tcp://127.0.0.1:%d", (int)port.number);
    for (int rank = 0; rank < RANKS; ++rank) {
        ranks[rank] = fork();
        if (ranks[rank] != 0) continue;
        char number[2] = {(char)('0' + rank), '\0'};
        (void)execl("/proc/self/exe", "rank", backend, url, number, (char*)NULL);
        _exit(127);
    }
    int wrong = 0;
    for (int rank = 0; rank < RANKS; ++rank) {
        int ended = -1;
        (void)waitpid(ranks[rank], &ended, 0);
        wrong += ended != 0;
    }
    (void)close(port.holder);
    assert_int_equal(wrong, 0);
}

static void groups_over_shm_follow_each_other_at_one_address(void** state) {
    (void)state;
    rounds_over("shm");
}

static void groups_over_gloo_follow_each_other_at_one_address(void** state) {
    (void)state;
    rounds_over("gloo");
}

int main(int count, char** arguments) {
    if (count > 3) return be_rank(arguments[1], arguments[2], arguments[3][0] - '0');
    const struct CMUnitTest tests[] = {
        TEST(groups_over_shm_follow_each_other_at_one_address),
        TEST(groups_over_gloo_follow_each_other_at_one_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
