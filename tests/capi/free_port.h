/* A port for programs that must be given one. C99 and C++. */
#ifndef TUTTI_TESTS_FREE_PORT_H
#define TUTTI_TESTS_FREE_PORT_H

#include "support/contract.h"

/* A port that was free a moment ago. */
static int32_t free_port(void) {
    int32_t port = 0;
    tutti_store* store = NULL;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.no_wait_for_workers = 1;
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, -1, 1, &options, &store, &error));
    EXPECT_OK(tutti_tcp_store_port(store, &port, &error));
    tutti_store_release(store);
    return port;
}

#endif
