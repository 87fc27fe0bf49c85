/* The beginning of tests of ranks that are threads: the backend they run over, and how a test runs
 * a function on each rank. C99 and C++. */
#ifndef TUTTI_TESTS_ON_RANKS_H
#define TUTTI_TESTS_ON_RANKS_H

#include "support/contract.h"
#include "support/ranks.h"

static const char* backend = "loopback"; /* or what the program's first argument names */

#define RUN_WITH(size, function, user) assert_int_equal(run_ranks(backend, size, function, user), 0)
#define RUN(size, function) RUN_WITH(size, function, NULL)

/* The test NAME_on_ranks, for a function that every rank runs. */
#define RANK_TEST(name, size)                   \
    static void name##_on_ranks(void** state) { \
        (void)state;                            \
        RUN(size, name);                        \
    }

#endif
