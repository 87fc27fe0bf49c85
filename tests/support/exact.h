/* Sums that are exact and rounded once, by an integer of two thousand bits, and numbers that other
 * sums go wrong with. Public headers only; C99 and C++. */
#ifndef TUTTI_TESTS_EXACT_H
#define TUTTI_TESTS_EXACT_H

#include <tutti/tutti.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of numbers. */
enum { ALIKE, SPREAD, CANCELLING, SPECIAL, TINY, KINDS };

/* float16, bfloat16, float32, float64, complex64, complex128 */
enum { EXACT_DTYPES = 6, MOST_ADDENDS = 16 };
extern const tutti_dtype exact_dtypes[EXACT_DTYPES];

/* `addends` lists of `count` elements of a dtype, and the exact sums of the first 1, 2, ... of
 * them. Both are memory of the elements, one list after the other. */
typedef struct numbers {
    tutti_dtype dtype;
    int64_t count;
    int32_t addends;
    unsigned char* given;
    unsigned char* sums; /* list i: of i + 1 addends */
} numbers;

/* The same for the same seed. */
numbers make_numbers(tutti_dtype dtype, int kind, int32_t addends, int64_t count, uint64_t seed);
void free_numbers(numbers* all);

/* List i, from the element `first` on. */
unsigned char* given_number(const numbers* all, int32_t list, int64_t first);
unsigned char* exact_sum(const numbers* all, int32_t addends, int64_t first);

#ifdef __cplusplus
}
#endif

#endif
