/* Elements to reduce; see elements.h. */
#include "support/elements.h"

#include <stdio.h>

/* The average is exact, too. */
static number element_of(tutti_dtype dtype, tutti_reduce_op op, int32_t rank, int32_t size,
                         int64_t index) {
    number value = {(double)(1 + (7 * rank + index) % 3), (double)((rank + index) % 5 - 2)};
    if (dtype == TUTTI_BOOL) value.real = (double)((3 * rank + index) % 4);
    if (op == TUTTI_AVG) value.real *= size, value.imaginary *= size;
    if (!is_unsigned(dtype) && (rank + index) % 2 == 1) value.real = -value.real;
    if (!is_complex(dtype)) value.imaginary = 0;
    return value;
}

void fill_elements(tutti_dtype dtype, tutti_reduce_op op, void* data, int32_t rank, int32_t size,
                   int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        put_element(dtype, data, i, element_of(dtype, op, rank, size, first + i));
    }
}

int is_reduction(tutti_dtype dtype, tutti_reduce_op op, const void* data, int32_t size,
                 int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        number values[MOST_SUMMANDS];
        for (int32_t rank = 0; rank < size; ++rank) {
            values[rank] = element_of(dtype, op, rank, size, first + i);
        }
        const number wanted = reduce_numbers(dtype, op, values, size);
        const number got = get_element(dtype, data, i);
        if (got.real != wanted.real || got.imaginary != wanted.imaginary) {
            fprintf(stderr, "%s %s of %d ranks, element %d of %d: %g+%gi, not %g+%gi\n",
                    dtype_text(dtype), reduce_op_text(op), (int)size, (int)i, (int)count, got.real,
                    got.imaginary, wanted.real, wanted.imaginary);
            return 0;
        }
    }
    return 1;
}
