/* Training with a reducer, as a step of a rank of the fault tests. Public headers only; C99. */
#ifndef TUTTI_FAULTS_TRAINING_H
#define TUTTI_FAULTS_TRAINING_H

#include <tutti/tutti.h>

/* Passes of a reducer of the default group until one fails: its failure. With "passes=" in the
 * step, the ranks that are left go on until they have made so many. Prints "." for each bucket that
 * is reduced; "die=": the process kills itself after so many of them. Ends the process if a bucket
 * has not the mean of the members. */
tutti_status train(const char* step, tutti_error* error);

#endif
