/* Array arguments of Fortran as buffers of C; what arrays.f90 calls. */
#ifndef TUTTI_FORTRAN_ARRAYS_H
#define TUTTI_FORTRAN_ARRAYS_H

#include <ISO_Fortran_binding.h>
#include <tutti/tutti.h>

/* An array during a call; all zero before. */
typedef struct tutti_fortran_array {
    tutti_buffer buffer;
    void* copy; /* the elements one behind the other, or NULL if they are so by themselves */
    int32_t may_be_text;
} tutti_fortran_array;

/* 1 if the argument is a text, or may be one: gfortran 12 describes constants as single bytes, and
 * hands over the length of a text as if it were that of the next character argument. */
int32_t tutti_fortran_may_be_text(const CFI_cdesc_t* array);

/* Fills `out`, or fails and names the argument. A `dtype` of -1 is the array's own. A copy is made
 * only if `may_copy` is 1. If `may_be_buffer` is 1, the argument may also be one tutti_buffer, which
 * stands for memory that Fortran has no array of. */
tutti_status tutti_fortran_open(const CFI_cdesc_t* array, const char* argument, int32_t dtype,
                                int32_t may_copy, int32_t may_be_buffer, tutti_fortran_array* out,
                                tutti_error* error);

/* Ends what open began: brings a copy's elements back if they were to be written. */
void tutti_fortran_close(const CFI_cdesc_t* array, int32_t write_back, tutti_fortran_array* opened);

/* The extents in C's order: the last dimension of Fortran is the first of C. */
tutti_status tutti_fortran_extents(const CFI_cdesc_t* array, int64_t* extents);

/* Copies the elements of an object's array into an array of the same type and shape. */
tutti_status tutti_fortran_fill(const CFI_cdesc_t* array, const char* argument, const void* data,
                                int32_t dtype, const int64_t* shape, int32_t dimensions,
                                tutti_error* error);

#endif
