/* The beginning of a random test, so that a failure can be had again. C99 and C++. */
#ifndef TUTTI_TESTS_SEED_H
#define TUTTI_TESTS_SEED_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* TUTTI_TEST_SEED, or another one each time. Whoever takes it prints it. */
static inline uint32_t test_seed(void) {
    const char* const given = getenv("TUTTI_TEST_SEED");
    struct timespec now;
    if (given != NULL && *given != '\0') return (uint32_t)strtoul(given, NULL, 10);
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint32_t)now.tv_sec * 1000000007u ^ (uint32_t)now.tv_nsec;
}

#endif
