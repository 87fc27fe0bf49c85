/* Which TCP sockets this machine has, from /proc, and how to call one. Any thread. */
#ifndef TUTTI_TESTS_SOCKETS_H
#define TUTTI_TESTS_SOCKETS_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

/* The ports that a process listens at, `most` of them; returns how many. */
int listening_ports(pid_t pid, int32_t* ports, int most);
/* 127.0.0.1 and this port. */
struct sockaddr_in loopback_address(int32_t port);
/* How many connections to this port stand. */
int connections_to(int32_t port);

#endif
