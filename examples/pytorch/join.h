/* How a rank in C joins the group of all ranks of a PyTorch job over backend "tutti", with the
 * variables that PyTorch's own ranks have: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. */
#ifndef JOIN_H
#define JOIN_H

#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

/* Ends the program after a failure, which names a rank that has died. */
static inline void check(tutti_status status, const tutti_error* error) {
    if (status == TUTTI_OK) return;
    fprintf(stderr, "%s: %s\n", tutti_status_name(status), error->message);
    exit(1);
}

static inline const char* variable(const char* name) {
    const char* const value = getenv(name);
    if (value != NULL) return value;
    fprintf(stderr, "%s is not set; README.md says how ranks are started\n", name);
    exit(2);
}

/* Rank 0 has the store, as in PyTorch; the others are its clients. */
static inline tutti_group* join(void) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_store *whole = NULL, *part = NULL;
    tutti_group* group = NULL;
    const int rank = atoi(variable("RANK")), size = atoi(variable("WORLD_SIZE"));
    const int port = atoi(variable("MASTER_PORT"));
    check(tutti_tcp_store_create(variable("MASTER_ADDR"), port, size, rank == 0, NULL, &whole,
                                 &error),
          &error);
    check(tutti_prefix_store_create(whole, "default_pg/0//cpu/", &part, &error), &error);
    check(tutti_group_create(NULL, part, "world", rank, size, NULL, &group, &error), &error);
    tutti_store_release(part);
    tutti_store_release(whole);
    return group;
}

static inline void leave(tutti_group* group) {
    tutti_error error = TUTTI_ERROR_INIT;
    check(tutti_destroy_process_group(group, NULL, &error), &error);
    tutti_group_release(group);
}

#endif
