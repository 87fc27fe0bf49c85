/* What tutti-conformance is asked. */
#ifndef TUTTI_TESTS_CONFORMANCE_ARGUMENTS_H
#define TUTTI_TESTS_CONFORMANCE_ARGUMENTS_H

#include "conformance.h"

typedef struct settings {
    const char* backend;
    const char* only;  /* NULL: every collective */
    const char* lacks; /* "": nothing */
    const char* store; /* the one whose calls are tried; NULL: a backend is */
    int32_t fewest, most;
    uint64_t seed;
    int is_full, is_part, is_on_device, is_of_processes;
    int may_refuse; /* what it refuses it lacks */
    enum { OWN, SHARED, MIXED } memory;
} settings;

/* Ends the program if it is asked for help, its version, or what it cannot do. */
settings read_arguments(int argc, char** argv);

#endif
