/* The oracle: elements of every dtype as numbers, and what a reduction of them is, one after the
 * other. C99 and C++. */
#ifndef TUTTI_TESTS_REFERENCE_H
#define TUTTI_TESTS_REFERENCE_H

#include <tutti/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DTYPES = TUTTI_BOOL + 1, REDUCE_OPS = TUTTI_BXOR + 1 };

typedef struct number {
    double real, imaginary;
} number;

number real_number(double real);

/* Small whole numbers, and their halves and quarters where the dtype has them, go in and out
 * exactly. */
void put_element(tutti_dtype dtype, void* data, int64_t index, number value);
number get_element(tutti_dtype dtype, const void* data, int64_t index);

int is_floating(tutti_dtype dtype); /* complex is not */
int is_complex(tutti_dtype dtype);
int is_unsigned(tutti_dtype dtype);

/* As the contract of tutti_all_reduce says. */
int is_reducible(tutti_dtype dtype, tutti_reduce_op op);

/* The reduction of what `size` ranks have: values[0] to values[size - 1]. */
number reduce_numbers(tutti_dtype dtype, tutti_reduce_op op, const number* values, int32_t size);

const char* dtype_text(tutti_dtype dtype);
const char* reduce_op_text(tutti_reduce_op op);

#ifdef __cplusplus
}
#endif

#endif
