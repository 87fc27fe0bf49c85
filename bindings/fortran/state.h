/* What the Fortran layer remembers between calls. */
#ifndef TUTTI_FORTRAN_STATE_H
#define TUTTI_FORTRAN_STATE_H

#include <tutti/tutti.h>

/* Keeps a failure as the last one of this thread, and gives it. */
void tutti_fortran_note(const tutti_error* error);
void tutti_fortran_noted(tutti_error* error);

/* Notes whether the calls of a group are being gathered. Returns whether they were before, 1 or 0,
 * or -1 if there is no memory to note it. */
int32_t tutti_fortran_set_gathering(intptr_t group, int32_t gathering);
int32_t tutti_fortran_is_gathering(intptr_t group);

#endif
