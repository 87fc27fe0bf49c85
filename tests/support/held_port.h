/* A port for programs that must be given one. C99 and C++. */
#ifndef TUTTI_TESTS_HELD_PORT_H
#define TUTTI_TESTS_HELD_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/contract.h"

typedef struct held_port {
    int holder;
    int32_t number;
} held_port;

/* No other socket is given it until close(holder): it is bound, by a socket that does not listen,
 * so that whoever is told of it can. */
static held_port hold_port(void) {
    held_port port;
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    const int one = 1;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    port.holder = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(port.holder >= 0);
    assert_int_equal(setsockopt(port.holder, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(port.holder, (struct sockaddr*)&address, size), 0);
    assert_int_equal(getsockname(port.holder, (struct sockaddr*)&address, &size), 0);
    port.number = ntohs(address.sin_port);
    return port;
}

#endif
