/* The parts of tutti-bench: what it was asked, and calls of tutti. */
#ifndef TUTTI_BENCH_TUTTI_BENCH_H
#define TUTTI_BENCH_TUTTI_BENCH_H

#include <tutti/tutti.h>

#include "cells.h"

enum { MOST_OPERATIONS = 128, MOST_SIZES = 64, MOST_RANK_COUNTS = 16, MOST_RANKS = 256 };

typedef struct options {
    cell operations[MOST_OPERATIONS]; /* op, form and value are set */
    int operation_count, everything;  /* everything: all were asked for in one word */
    int64_t sizes[MOST_SIZES];
    int size_count;
    int ranks[MOST_RANK_COUNTS];
    int rank_count;
    int ranks_given;
    int element, data;   /* data: see numbers.h */
    const char* backend; /* NULL: chosen by tutti */
    uint32_t reproducible;
    enum { PRIVATE = 1, ALLOCATED = 2 } memory; /* or both */
    int unbound;
    int ways;
    method how;
    const char* csv;
    /* The comparison by against.py. */
    const char* against;
    const char* plot;
    int rounds, patience, judge, plain;
} options;

/* tutti_bench_options.c */

/* Says what is wrong with an option, and exits with 2. */
void read_options(int argc, char** argv, options* out);
/* The same where an operation is not for so many ranks, unless all were asked for. */
void check_ranks(const options* all, int ranks);
/* The same for what is found wrong later. */
__attribute__((format(printf, 1, 2), noreturn)) void refuse(const char* format, ...);

/* tutti_bench_usage.c */

extern const char usage_text[];

/* tutti_bench_driver.c */

/* Becomes against.py, which calls this program for its share. */
void become_driver(const options* asked);

/* tutti_bench_calls.c: collectives, messages and buckets. */

/* The failure of the call that failed. */
extern tutti_error failure;
/* Before a cell is measured; its memory is set. */
void prepare_call(const cell* of);
int call_once(const cell* of);
int start_call(const cell* of);
int finish_call(void);

/* tutti_bench_memory.c */

/* Makes sure that what take_memory takes will do for the cell. */
void want_memory(const cell* of, int rank, int ranks);
/* Contents lie in memory of tutti_memory_alloc until it is given back. 0: a call failed. */
int take_memory(void);
void give_memory_back(void);

/* tutti_bench_ways.c */

enum { WAY = 48 };
/* Calls once more, and sets `way` on rank 0 to the way that took, "-" where the backend does not
 * say. 0: a call failed. */
int find_way(const library* with, const cell* of, char* way);
/* Appends to `ways`, with a + between, the one that a line of the log tells, unless it is there. */
void read_way(const char* message, char* ways, size_t size);

/* tutti_bench_values.c: the store and objects. */
extern const char* const object_values[];
extern const int object_value_count;
/* Makes the value, or connects to the store, and sets the cell's bytes if these make them. */
int prepare_value(cell* of, int rank, int ranks);
int call_with_value(const cell* of);
void release_values(const cell* of);
int check_value(const cell* of, char* why);
void end_value(void);

#endif
