/* The numbers that ranks contribute. Private to contents.c, halo.c and
 * to whom chooses among them. */
#ifndef TUTTI_BENCH_NUMBERS_H
#define TUTTI_BENCH_NUMBERS_H

#include <stdint.h>

enum {
    WHOLE,    /* small whole numbers, of every element type */
    ORDINARY, /* between -1 and 1, all bits drawn */
    SPREAD,   /* of either sign, sizes over 60 powers of two */
    EXTREME   /* over all that the type has, the least up to what sums of ranks cannot overflow */
};
extern const char* const data_kinds[];
extern const int data_kind_count;

int find_data(const char* name);     /* -1: there is none */
int has_data(int kind, int element); /* whether there are such of that element type */
void use_data(int kind);             /* from now on; WHOLE at first */

/* Whether the sum of all ranks has no error in any order. */
int sums_are_exact(void);
double number_of(int element, int rank, int64_t index);
/* The sum over so many ranks; `slack` is set to how far one that is rounded at each step may be
 * off. */
double sum_of(int element, int ranks, int64_t index, double* slack);

#endif
