/* An array argument of Fortran in C: a tutti_buffer of its elements, by the descriptor
 * that the compiler makes. Elements that do not stand one behind the other, and logicals that take
 * more than a byte, go through a copy, which only a call that has done its work when it returns
 * may make. On the caller's thread. */
#include "arrays.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refuses an argument; returns the status. */
static tutti_status refuse(tutti_error* error, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->rank = -1;
    error->system_errno = 0;
    return error->status = TUTTI_ERR_INVALID_ARGUMENT;
}

/* The dtype of Fortran's type and kind, or -1; characters are bytes. */
static int32_t dtype_of(const CFI_cdesc_t* array) {
    switch (array->type) {
        case CFI_type_int8_t:
            return TUTTI_INT8;
        case CFI_type_int16_t:
            return TUTTI_INT16;
        case CFI_type_int32_t:
            return TUTTI_INT32;
        case CFI_type_int64_t:
            return TUTTI_INT64;
        case CFI_type_float:
            return TUTTI_FLOAT32;
        case CFI_type_double:
            return TUTTI_FLOAT64;
        case CFI_type_float_Complex:
            return TUTTI_COMPLEX64;
        case CFI_type_double_Complex:
            return TUTTI_COMPLEX128;
        default:
            break;
    }
    switch (array->type & CFI_type_mask) {
        case CFI_type_Logical:
            return TUTTI_BOOL;
        case CFI_type_Character:
            return TUTTI_UINT8;
        default:
            return -1;
    }
}

/* Whether the elements are logicals of several bytes, which C takes as one byte each. */
static int is_wide_logical(const CFI_cdesc_t* array, int32_t dtype) {
    return dtype == TUTTI_BOOL && array->elem_len != 1;
}

/* How many elements of the descriptor's own size the array has. */
static int64_t elements_of(const CFI_cdesc_t* array) {
    int64_t count = 1;
    int i;
    for (i = 0; i < array->rank; i++) count *= array->dim[i].extent;
    return count;
}

int32_t tutti_fortran_may_be_text(const CFI_cdesc_t* array) {
    return (array->type & CFI_type_mask) == CFI_type_Character ||
           (array->rank == 0 && array->type == CFI_type_int8_t);
}

static tutti_status check(const CFI_cdesc_t* array, const char* argument, tutti_error* error) {
    int last = array->rank - 1;
    /* gfortran 12 describes constants, substrings and results of functions as texts of another
     * length, or as single bytes. */
    if (array->rank == 0 && tutti_fortran_may_be_text(array))
        return refuse(error,
                      "%s is a single character or integer(int8), whose length the compiler does "
                      "not tell: pass an array, or use the calls for bytes",
                      argument);
    if (array->base_addr == NULL && elements_of(array) != 0)
        return refuse(error, "%s is not allocated, or not associated", argument);
    if (last >= 0 && array->dim[last].extent < 0)
        return refuse(error, "%s is an assumed-size array: pass a section of it with its bounds",
                      argument);
    return TUTTI_OK;
}

/* Whether the dtype that the caller names can stand in the elements that the array has. */
static tutti_status choose_dtype(const CFI_cdesc_t* array, const char* argument, int32_t wanted,
                                 int32_t* dtype, tutti_error* error) {
    *dtype = dtype_of(array);
    if (*dtype < 0)
        return refuse(error,
                      "%s has a type that no dtype stands for; integer, real, complex, logical and "
                      "character of the kinds that C has do",
                      argument);
    if (wanted < 0 || wanted == *dtype) return TUTTI_OK;
    if (tutti_dtype_size((tutti_dtype)wanted) == 0)
        return refuse(error, "dtype is %d, which is none", (int)wanted);
    if (tutti_dtype_size((tutti_dtype)wanted) != (int64_t)array->elem_len)
        return refuse(error, "dtype has elements of %d bytes, but those of %s have %d",
                      (int)tutti_dtype_size((tutti_dtype)wanted), argument, (int)array->elem_len);
    *dtype = wanted;
    return TUTTI_OK;
}

/* Goes to the next run of elements along the first dimension, which moves fastest. Returns 0 behind
 * the last one. */
static int next_run(const CFI_cdesc_t* array, CFI_index_t* index, char** run) {
    int i;
    for (i = 1; i < array->rank; i++) {
        *run += array->dim[i].sm;
        if (++index[i] < array->dim[i].extent) return 1;
        *run -= index[i] * array->dim[i].sm;
        index[i] = 0;
    }
    return 0;
}

static char to_byte(const char* logical, size_t size) {
    int32_t usual;
    char any = 0;
    size_t i;
    if (size == sizeof usual) {
        memcpy(&usual, logical, sizeof usual);
        return usual != 0;
    }
    for (i = 0; i < size; i++) any |= logical[i] != 0;
    return any;
}

static void from_byte(char* logical, char from, size_t size) {
    /* Fortran's .true. is the integer 1 of the same size. */
    memset(logical, 0, size);
    logical[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : size - 1] = from != 0;
}

/* Copies elements that stand apart by so many bytes. Sizes that the compiler knows are moved at
 * once. */
static void copy_run(char* to, ptrdiff_t to_step, const char* from, ptrdiff_t from_step,
                     int64_t count, size_t size) {
    int64_t i;
    if (to_step == from_step && to_step == (ptrdiff_t)size) {
        memcpy(to, from, (size_t)count * size);
    } else if (size == 8) {
        for (i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, 8);
    } else if (size == 4) {
        for (i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, 4);
    } else {
        for (i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, size);
    }
}

/* Copies logicals of several bytes to single ones, or back. */
static void copy_logicals(char* logical, ptrdiff_t step, char* bytes, int64_t count, size_t size,
                          int back) {
    int64_t i;
    for (i = 0; i < count; i++)
        if (back)
            from_byte(logical + i * step, bytes[i], size);
        else
            bytes[i] = to_byte(logical + i * step, size);
}

/* Copies all elements, of which there are some, to the packed memory of this dtype, or back. */
static void copy_elements(const CFI_cdesc_t* array, char* packed, int32_t dtype, int back) {
    CFI_index_t index[CFI_MAX_RANK] = {0};
    const ptrdiff_t size = (ptrdiff_t)array->elem_len;
    const int wide = is_wide_logical(array, dtype);
    const int64_t count = array->rank == 0 ? 1 : array->dim[0].extent;
    const ptrdiff_t step = array->rank == 0 ? size : array->dim[0].sm;
    char* run = array->base_addr;
    do {
        if (wide)
            copy_logicals(run, step, packed, count, array->elem_len, back);
        else if (back)
            copy_run(run, step, packed, size, count, array->elem_len);
        else
            copy_run(packed, size, run, step, count, array->elem_len);
        packed += count * (wide ? 1 : size);
    } while (next_run(array, index, &run));
}

/* Why the elements cannot be used where they are; NULL if they can. */
static const char* why_to_copy(const CFI_cdesc_t* array, int32_t dtype) {
    if (is_wide_logical(array, dtype))
        return "has logicals of more than one byte (kind c_bool has one)";
    return array->rank == 0 || CFI_is_contiguous(array) ? NULL : "is not contiguous";
}

/* The tutti_buffer that the argument is, or NULL. What else has its size has no zeros there. */
static const tutti_buffer* as_buffer(const CFI_cdesc_t* array) {
    const tutti_buffer* buffer = array->base_addr;
    uint64_t reserved = 0;
    size_t i;
    if (array->type != CFI_type_struct && array->type != CFI_type_other) return NULL;
    if (array->elem_len != sizeof *buffer || buffer == NULL || elements_of(array) != 1) return NULL;
    for (i = 0; i < sizeof buffer->reserved / sizeof *buffer->reserved; i++)
        reserved |= buffer->reserved[i];
    if (reserved != 0 || buffer->reserved_0 != 0) return NULL;
    return tutti_dtype_size(buffer->dtype) == 0 ? NULL : buffer;
}

static tutti_status take_buffer(const tutti_buffer* buffer, const char* argument, int32_t dtype,
                                tutti_buffer* out, tutti_error* error) {
    *out = *buffer;
    if (dtype < 0) return TUTTI_OK;
    if (tutti_dtype_size((tutti_dtype)dtype) != tutti_dtype_size(buffer->dtype))
        return refuse(error, "dtype is %d, but the elements of %s have another size", (int)dtype,
                      argument);
    out->dtype = (tutti_dtype)dtype;
    return TUTTI_OK;
}

tutti_status tutti_fortran_open(const CFI_cdesc_t* array, const char* argument, int32_t dtype,
                                int32_t may_copy, int32_t may_be_buffer, tutti_fortran_array* out,
                                tutti_error* error) {
    const tutti_buffer* buffer = may_be_buffer ? as_buffer(array) : NULL;
    const char* why;
    int32_t chosen;
    int64_t count;
    if (buffer != NULL) return take_buffer(buffer, argument, dtype, &out->buffer, error);
    if (check(array, argument, error)) return error->status;
    if (choose_dtype(array, argument, dtype, &chosen, error)) return error->status;
    count = elements_of(array);
    if ((array->type & CFI_type_mask) == CFI_type_Character && chosen == TUTTI_UINT8)
        count *= (int64_t)array->elem_len;
    out->buffer.data = array->base_addr;
    out->buffer.count = count;
    out->buffer.dtype = (tutti_dtype)chosen;
    why = why_to_copy(array, chosen);
    if (why == NULL || elements_of(array) == 0) return TUTTI_OK;
    if (!may_copy)
        return refuse(error,
                      "%s %s: it can only be used by a call that has ended when it returns, which "
                      "makes a copy",
                      argument, why);
    out->copy =
        malloc((size_t)elements_of(array) * (is_wide_logical(array, chosen) ? 1 : array->elem_len));
    if (out->copy == NULL) {
        refuse(error, "no memory for a copy of %s", argument);
        return error->status = TUTTI_ERR_OUT_OF_MEMORY;
    }
    out->buffer.data = out->copy;
    copy_elements(array, out->copy, chosen, 0);
    return TUTTI_OK;
}

void tutti_fortran_close(const CFI_cdesc_t* array, int32_t write_back,
                         tutti_fortran_array* opened) {
    if (opened->copy == NULL) return;
    if (write_back) copy_elements(array, opened->copy, opened->buffer.dtype, 1);
    free(opened->copy);
    opened->copy = NULL;
}

tutti_status tutti_fortran_extents(const CFI_cdesc_t* array, int64_t* extents) {
    int i;
    for (i = 0; i < array->rank; i++) extents[i] = array->dim[array->rank - 1 - i].extent;
    return TUTTI_OK;
}

static const char* name_of(int32_t dtype) {
    static const char* const names[] = {"int8",    "uint8",   "int16",     "uint16",     "int32",
                                        "uint32",  "int64",   "uint64",    "float16",    "bfloat16",
                                        "float32", "float64", "complex64", "complex128", "bool"};
    const int32_t count = (int32_t)(sizeof names / sizeof *names);
    return dtype >= 0 && dtype < count ? names[dtype] : "of no dtype";
}

/* Whether elements of the dtype can stand in the array as they are. */
static int is_of(const CFI_cdesc_t* array, int32_t dtype) {
    if (dtype_of(array) == dtype)
        return (array->type & CFI_type_mask) != CFI_type_Character || array->elem_len == 1;
    switch (dtype) {
        case TUTTI_UINT8:
        case TUTTI_UINT16:
        case TUTTI_UINT32:
        case TUTTI_UINT64:
        case TUTTI_FLOAT16:
        case TUTTI_BFLOAT16: /* What Fortran has no type for goes into integers of its size. */
            return (array->type & CFI_type_mask) == CFI_type_Integer &&
                   (int64_t)array->elem_len == tutti_dtype_size((tutti_dtype)dtype);
        default:
            return 0;
    }
}

tutti_status tutti_fortran_fill(const CFI_cdesc_t* array, const char* argument, const void* data,
                                int32_t dtype, const int64_t* shape, int32_t dimensions,
                                tutti_error* error) {
    int i;
    if (check(array, argument, error)) return error->status;
    if (!is_of(array, dtype))
        return refuse(error, "%s is %s of %d bytes, but the array in the object is %s", argument,
                      name_of(dtype_of(array)), (int)array->elem_len, name_of(dtype));
    if (array->rank != dimensions)
        return refuse(error, "%s has %d dimensions, but the array in the object %d", argument,
                      (int)array->rank, (int)dimensions);
    for (i = 0; i < dimensions; i++)
        if (array->dim[i].extent != shape[dimensions - 1 - i])
            return refuse(error,
                          "%s has the extent %lld in dimension %d, the array in the object "
                          "%lld",
                          argument, (long long)array->dim[i].extent, i + 1,
                          (long long)shape[dimensions - 1 - i]);
    /* A packed array is only read. */
    if (elements_of(array) > 0) copy_elements(array, (char*)(uintptr_t)data, dtype, 1);
    return TUTTI_OK;
}
