/* A TCP store served by a process of its own, so that what it costs can be seen, and connections to
 * it that say what they like. Public headers only; C99. One thread, but what is marked. */
#ifndef TUTTI_TESTS_HEAVY_SERVER_H
#define TUTTI_TESTS_HEAVY_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <tutti/tutti.h>

typedef struct server_process {
    pid_t pid;
    int to;
    int32_t port;
} server_process;

/* Raises the limit of descriptors of this process, and of the servers it starts; 0 if the system
 * forbids so many. */
int allow_descriptors(size_t wanted);

/* A test program hands its arguments over first: when it was started as a server it is one, and
 * this never returns. */
void serve_if_asked(int argc, char** argv);

/* For cmocka_unit_test_setup_teardown: *state is the server. The teardown fails if the server did
 * not live to its end. */
int server_open(void** state);
int server_close(void** state);

long server_memory_kib(const server_process* server); /* resident now */
long server_peak_kib(const server_process* server);   /* resident at most, since it started */
int server_descriptors(const server_process* server);
/* Waits until the server has so many descriptors open. */
void server_await_descriptors(const server_process* server, int wanted);

/* A client that waits for nobody. Any thread. */
tutti_status server_client(const server_process* server, tutti_store** out_store,
                           tutti_error* error);

/* A connection of bytes. These fail the test when the system does not do as it is told. */
int raw_connect(const server_process* server);
/* 0 if the server has hung up. */
int raw_send(int fd, const void* bytes, size_t size);
/* How many bytes came, `size` or fewer: then the server has hung up. */
size_t raw_receive(int fd, void* bytes, size_t size);

/* Bytes of the protocol: appended at `to`, which has the room; returns the end. */
char* put_greeting(char* to);
char* put_number(char* to, uint64_t value);
char* put_string(char* to, const void* bytes, size_t size);

#endif
