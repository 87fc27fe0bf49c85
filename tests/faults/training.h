/* Training with a reducer, as a step of a rank of the fault tests. Public headers only; C99. */
#ifndef TUTTI_FAULTS_TRAINING_H
#define TUTTI_FAULTS_TRAINING_H

#include <tutti/tutti.h>

/* Passes of a reducer of the default group until one fails: its failure. Prints "." for each bucket
 * that is reduced; "die=" in the step: the process kills itself after so many of them. */
tutti_status train(const char* step, tutti_error* error);

#endif
