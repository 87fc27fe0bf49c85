/* The messages of exchange, exchange_call and halo2d. Both sides of a comparison start the same
 * ones in the same order: of each neighbour first the receives, then the sends. */
#ifndef TUTTI_BENCH_MESSAGES_H
#define TUTTI_BENCH_MESSAGES_H

#include "cells.h"

enum { MOST_NEIGHBOURS = 4, MOST_EACH = 8, MOST_MESSAGES = 2 * MOST_NEIGHBOURS * MOST_EACH };

typedef struct message {
    int sends; /* or receives */
    int other, tag;
    void* data;
    int64_t count; /* of elements */
} message;

/* messages.c */

int neighbours_of(const cell* of);
int messages_each(const cell* of); /* to and from each neighbour */
/* The rank of one of them. What a rank sends to its neighbour `number`, comes there from the
 * neighbour opposite_of(number). */
int neighbour(const cell* of, int rank, int ranks, int number);
int opposite_of(const cell* of, int number);
/* Makes the messages of a cell that has its memory; of others there are none. */
void make_messages(const cell* of, int rank, int ranks);
/* Calls of halo2d take turns between two phases, which have different memory. Others have one. */
int message_count(void);
const message* messages_of_phase(int phase);
int message_phase(void);
void next_phase(void);

/* halo.c: a square of float64 cells on each rank, with the edges of the neighbours around it. */

enum { UP, DOWN, LEFT, RIGHT };

/* The grid of the ranks, as square as possible. */
void ranks_in_grid(int ranks, int* rows, int* columns);
size_t halo_size(const cell* of); /* in bytes */
void halo_fill(const cell* of, int rank, int ranks);
/* The memory of an edge: one of the square's own, or a neighbour's beside it. */
double* halo_edge(const cell* of, int phase, int direction, int is_theirs);
/* One call. 0: it failed. */
int halo_round(const library* with, const cell* of);
/* Whether the first call made what it should. */
int halo_is_right(const cell* of, int rank, int ranks, char* why);

#endif
