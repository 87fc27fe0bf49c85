/* Programs of C beside ranks of PyTorch with backend "tutti" share this. Public headers only. */
#ifndef TUTTI_TESTS_TORCH_PEER_H
#define TUTTI_TESTS_TORCH_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

#include "support/timing.h"

static tutti_error error;

#define MUST(what)                                                     \
    do {                                                               \
        if ((what) != TUTTI_OK) {                                      \
            fprintf(stderr, "C rank: %s: %s\n", #what, error.message); \
            exit(2);                                                   \
        }                                                              \
    } while (0)

static tutti_group* meet(int port, int rank, int size) {
    tutti_store *whole = NULL, *part = NULL;
    tutti_group* group = NULL;
    MUST(tutti_tcp_store_create("127.0.0.1", port, size, rank == 0, NULL, &whole, &error));
    MUST(tutti_prefix_store_create(whole, "default_pg/0//cpu/", &part, &error));
    MUST(tutti_group_create(NULL, part, "world", rank, size, NULL, &group, &error));
    tutti_store_release(part);
    tutti_store_release(whole);
    return group;
}

#endif
