/* The beginning of tests with dice: TEST WORKER [--rounds N] [--seed S]. */
#ifndef TUTTI_TESTS_FAULTS_ROUNDS_H
#define TUTTI_TESTS_FAULTS_ROUNDS_H

#include "faults.h"
#include "support/seed.h"

static uint64_t seed;
static int rounds;

static int below(int limit) { /* xorshift */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (unsigned)limit);
}

/* Says the seed. */
static void read_arguments(int argc, char** argv, int usual_rounds) {
    if (argc < 2) exit(2);
    worker_program = argv[1];
    rounds = usual_rounds;
    seed = test_seed();
    for (int index = 2; index + 1 < argc; index += 2) {
        if (strcmp(argv[index], "--rounds") == 0) rounds = atoi(argv[index + 1]);
        if (strcmp(argv[index], "--seed") == 0) seed = strtoull(argv[index + 1], NULL, 10);
    }
    print_message("--seed %llu\n", (unsigned long long)seed);
}

#endif
