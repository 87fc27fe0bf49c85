/* The common part of the fault tests: a row of a list of tests, each with a team of its own, and
 * who is asked to notice deaths. */
#ifndef TUTTI_TESTS_FAULTS_H
#define TUTTI_TESTS_FAULTS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/contract.h"
#include "support/processes.h"

#define TEAM_TEST(function) \
    { #function, function, team_open, team_close, NULL }

/* Silence is no failure in these tests: the machine may be slow, and only the closing connection
 * may tell of a death. */
#define PATIENT LIST("TUTTI_HEARTBEAT_TIMEOUT_MS=0")
/* Long enough that a rank that is only kept waiting for a processor is not taken for stopped. */
#define WATCHFUL LIST("TUTTI_HEARTBEAT_MS=50", "TUTTI_HEARTBEAT_TIMEOUT_MS=3000")

#endif
