/* Stands between clients and a server and does to their bytes what networks do: splits, stalls and
 * cuts. One thread carries them; the functions: one thread, the test's. C99. */
#ifndef TUTTI_TESTS_PROXY_H
#define TUTTI_TESTS_PROXY_H

#include <stddef.h>
#include <stdint.h>

typedef struct proxy proxy;

typedef enum proxy_direction { TO_SERVER, TO_CLIENT } proxy_direction;
typedef enum proxy_fault {
    STALL, /* carries nothing more, either way */
    CUT,   /* closes both sides */
    RESET  /* the same, with a reset */
} proxy_fault;

/* Listens at a free port of 127.0.0.1, for a server there. */
proxy* proxy_open(int32_t server_port);
int32_t proxy_port(const proxy* between);
/* Ends the thread, and all connections. */
void proxy_close(proxy* between);

/* Carries everything, at most `piece` bytes at once; what stalled goes on. */
void proxy_carry(proxy* between, size_t piece);
/* Carries so many bytes more in this direction, of all connections together, and then fails. */
void proxy_fail(proxy* between, proxy_fault fault, proxy_direction direction, size_t after);
/* Closes all connections; new ones are welcome. */
void proxy_drop(proxy* between);

#endif
