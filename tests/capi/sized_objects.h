/* Objects and bytes of any size that tell whose they are. Public headers only; C99 and C++. */
#ifndef TUTTI_TESTS_SIZED_OBJECTS_H
#define TUTTI_TESTS_SIZED_OBJECTS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/tutti.h>

#include "support/sanitizers.h"

enum { SIZES = 6 };
/* Nothing, what comes with the first message, what just does and just does not, several
 * segments. */
static const size_t sizes[SIZES] = {0, 100, 4000, 4096, 5000, 600000};

/* Bytes that shrink (even ranks) or do not. */
static UNWATCHED unsigned char* bytes_of(int32_t rank, size_t size) {
    unsigned char* bytes = (unsigned char*)malloc(size + 1);
    uint32_t state = (uint32_t)rank * 77 + 1;
    size_t i;
    for (i = 0; bytes != NULL && i < size; ++i) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = rank % 2 == 0 ? (unsigned char)rank : (unsigned char)(state >> 24);
    }
    return bytes;
}

/* [rank, bytes] */
static tutti_object* object_of(int32_t rank, size_t size) {
    unsigned char* bytes = bytes_of(rank, size);
    tutti_object* object = NULL;
    int32_t failed = tutti_object_create(&object, NULL) != TUTTI_OK;
    failed |= tutti_object_begin_list(object, NULL) != TUTTI_OK;
    failed |= tutti_object_add_int64(object, rank, NULL) != TUTTI_OK;
    failed |= tutti_object_add_bytes(object, bytes, size, 0, NULL) != TUTTI_OK;
    failed |= tutti_object_end(object, NULL) != TUTTI_OK;
    free(bytes);
    return failed ? NULL : object;
}

/* Whether it is the object of that rank; it is released. */
static int is_object_of(tutti_object* object, int32_t rank, size_t size) {
    tutti_object* wanted = object_of(rank, size);
    int32_t equal = 0;
    const tutti_status status = tutti_object_equal(object, 0, wanted, 0, &equal, NULL);
    tutti_object_release(wanted);
    tutti_object_release(object);
    return status == TUTTI_OK && equal == 1;
}

static int is_bytes_of(tutti_bytes* bytes, int32_t rank, size_t size) {
    unsigned char* wanted = bytes_of(rank, size);
    const int same = tutti_bytes_data(bytes) != NULL && tutti_bytes_size(bytes) == size &&
                     memcmp(tutti_bytes_data(bytes), wanted, size) == 0;
    free(wanted);
    tutti_bytes_release(bytes);
    return same;
}

#endif
