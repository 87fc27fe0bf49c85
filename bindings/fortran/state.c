/* What the Fortran layer remembers between calls: the last failure of each thread, and whether any
 * calls are being gathered. Any thread. */
#include "state.h"

#include <stdatomic.h>

static _Thread_local tutti_error last = TUTTI_ERROR_INIT;

void tutti_fortran_note(const tutti_error* error) {
    last = *error;
}

void tutti_fortran_noted(tutti_error* error) {
    *error = last;
}

static atomic_int gatherings;

void tutti_fortran_count_gathering(int32_t change) {
    atomic_fetch_add(&gatherings, change);
}

int32_t tutti_fortran_gatherings(void) {
    return atomic_load(&gatherings);
}
