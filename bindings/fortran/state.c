/* The memory of the Fortran layer between calls: the last failure of each thread. Any thread. */
#include "state.h"

static _Thread_local tutti_error last = TUTTI_ERROR_INIT;

void tutti_fortran_note(const tutti_error* error) {
    last = *error;
}

void tutti_fortran_noted(tutti_error* error) {
    *error = last;
}
