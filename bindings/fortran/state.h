/* What the Fortran layer remembers between calls. */
#ifndef TUTTI_FORTRAN_STATE_H
#define TUTTI_FORTRAN_STATE_H

#include <tutti/tutti.h>

/* Keeps a failure as the last one of this thread, and gives it. */
void tutti_fortran_note(const tutti_error* error);
void tutti_fortran_noted(tutti_error* error);

/* How many groups' calls may be being gathered: one more, or one less, and their number. A group
 * whose gathering failed stays counted. */
void tutti_fortran_count_gathering(int32_t change);
int32_t tutti_fortran_gatherings(void);

#endif
