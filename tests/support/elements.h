/* The elements that ranks reduce: so small that every result is exact in every dtype, whatever the
 * order, and whether some memory holds their reduction. C99 and C++. */
#ifndef TUTTI_TESTS_ELEMENTS_H
#define TUTTI_TESTS_ELEMENTS_H

#include "support/reference.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MOST_SUMMANDS = 16 };

/* The elements from `first` on of what a rank of `size` ranks gives. */
void fill_elements(tutti_dtype dtype, tutti_reduce_op op, void* data, int32_t rank, int32_t size,
                   int64_t first, int64_t count);

/* Whether `data` is the reduction of these elements of all ranks; says on stderr where it is
 * not. */
int is_reduction(tutti_dtype dtype, tutti_reduce_op op, const void* data, int32_t size,
                 int64_t first, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
