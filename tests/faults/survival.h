/* Going on after deaths, as a step of a rank of the fault tests. Public headers only; C99. */
#ifndef TUTTI_FAULTS_SURVIVAL_H
#define TUTTI_FAULTS_SURVIVAL_H

#include <tutti/tutti.h>

/* Calls of many kinds in the default group, which is shrunk as often as ranks die, until one is
 * left. The ranks agree by "seed=" who dies and about when: in the midst of whatever they do then.
 * "at_once=" is how many at most in one round; "stop=1": they stop instead. Ends with a failure
 * when the others have gone on without this rank. Ends the process if the ranks of a group do not
 * know the same members, or a result is wrong. */
tutti_status survive(const char* step, tutti_error* error);

#endif
