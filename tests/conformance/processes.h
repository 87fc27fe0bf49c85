/* Ranks that are processes, which a launcher has started: each runs the same program, and has one
 * rank of every group. Public headers only; C99. */
#ifndef TUTTI_TESTS_CONFORMANCE_PROCESSES_H
#define TUTTI_TESTS_CONFORMANCE_PROCESSES_H

#include <stddef.h>

#include "support/ranks.h"

/* Meets the others at env://, or ends the program. */
void processes_begin(void);
void processes_end(void);
int32_t process_rank(void);
int32_t process_ranks(void);
/* Returns the value of rank 0. */
uint64_t processes_agree(uint64_t value);
/* `bytes` of each rank, by rank: every process gives its own, and receives those of the others. */
void processes_share(void* all, size_t bytes);
/* As run_ranks, of which this process runs its rank. Returns how many ranks of all failed. */
int run_ranks_of_processes(const char* backend, rank_function function, void* user);

#endif
