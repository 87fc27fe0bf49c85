/* What programs share that measure something else than tutti: their command line,
 *     PEER OPERATION,... BYTES,... DTYPE DATA ITERATIONS REWRITE
 * ITERATIONS 0: by time. Rank 0 prints the rows. */
#ifndef TUTTI_BENCH_PEER_H
#define TUTTI_BENCH_PEER_H

#include "cells.h"

typedef struct peer {
    library with;
    int (*takes)(int element);    /* from here on elements of that type; 0: it cannot */
    void (*die)(const char* why); /* does not return */
} peer;

/* Measures everything that the command line asks for. */
void measure_all(const peer* it, int argc, char** argv);

#endif
