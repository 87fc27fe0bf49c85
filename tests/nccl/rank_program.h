/* A test whose ranks are processes, started by tuttirun: an expectation that fails ends its
 * rank. */
#ifndef TUTTI_TESTS_NCCL_RANK_PROGRAM_H
#define TUTTI_TESTS_NCCL_RANK_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

#include "cuda/on_devices.h"

static rank_context me;
static int32_t device;

static void expect(int condition, const char* what, const char* file, int line) {
    if (condition) return;
    fprintf(stderr, "%s:%d: rank %d: %s: %s\n", file, line, (int)me.rank, what, me.error.message);
    exit(1);
}
#define EXPECT(condition) expect(condition, #condition, __FILE__, __LINE__)
#define OK(call) expect((call) == TUTTI_OK, #call, __FILE__, __LINE__)

#endif
