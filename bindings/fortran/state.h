/* The memory of the Fortran layer between calls. */
#ifndef TUTTI_FORTRAN_STATE_H
#define TUTTI_FORTRAN_STATE_H

#include <tutti/tutti.h>

/* Keeps a failure as the last one of this thread, and gives it. */
void tutti_fortran_note(const tutti_error* error);
void tutti_fortran_noted(tutti_error* error);

#endif
