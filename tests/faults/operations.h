/* The operations that a rank of the fault tests can make, from their words: "all_reduce count=16".
 * Every collective by its name without tutti_, coalesced (three all_reduces as one), send and recv;
 * with, as name=number:
 *   count=    elements of a piece, dtype=, op=, timeout=
 *   root=     of a call that has one
 *   splits=1  all_to_all_single with lists of sizes
 *   shared=1  in memory of tutti_memory_alloc
 *   more=     elements that the piece of the rank other= has more, in what this rank gives
 *             (gives=1; also the list of an all_gather) or takes (takes=1)
 *   to= from= tag=   of a message
 * Public headers only; C99. One thread. */
#ifndef TUTTI_FAULTS_OPERATIONS_H
#define TUTTI_FAULTS_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>
#include <tutti/tutti.h>

/* The memory an operation works on. */
typedef struct memory {
    unsigned char* bytes;
    size_t size;
    int is_shared;
} memory;

/* Whether the step is this word, with or without more behind it. */
int begins(const char* step, const char* word);
/* The number after " name=", or `otherwise`. */
int64_t number_in(const char* step, const char* name, int64_t otherwise);

/* Which group they are for: TUTTI_GROUP_WORLD unless set. */
extern tutti_group* operations_group;

/* Either the operation or, if `work` is not NULL, its start; the memory is the caller's to give
 * back. An operation that is none ends the process. */
tutti_status operate(const char* operation, memory* lent, tutti_work** work, tutti_error* error);
void give_back(memory* lent);
/* Ends the process if what a recv received is not what a send sends. */
void check_received(const char* operation, const memory* lent);

#endif
