/* The least that a message over TCP can cost: two processes with one connection between them, each
 * of which polls its socket. No library is in between. Measured as tutti-bench measures ping-pong,
 * by the same code. against.py compiles it with what both share. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peer.h"

static int rank, connection;

static void die(const char* why) {
    fprintf(stderr, "sockets_peer, rank %d: %s\n", rank, why);
    exit(2);
}

static int move(ssize_t (*step)(char*, size_t), void* data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t moved = step((char*)data + done, bytes - done);
        if (moved > 0) done += (size_t)moved;
        if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) return 0;
    }
    return 1;
}

static ssize_t step_out(char* data, size_t bytes) {
    return send(connection, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t step_in(char* data, size_t bytes) {
    return recv(connection, data, bytes, MSG_DONTWAIT);
}

static int put(void* data, size_t bytes) {
    return move(step_out, data, bytes);
}

static int get(void* data, size_t bytes) {
    return move(step_in, data, bytes);
}

static int call(const cell* of) {
    const size_t bytes = (size_t)of->count * element_types[of->element].size;
    if (of->op->kind != PING_PONG) die("only ping-pong is measured here");
    return rank == 0 ? put(of->input, bytes) && get(of->output, bytes)
                     : get(of->output, bytes) && put(of->input, bytes);
}

static int barrier(void) {
    char token = 'x';
    return put(&token, 1) && get(&token, 1);
}

static int largest(double* values, int64_t count) {
    const size_t bytes = (size_t)count * sizeof *values;
    double* const theirs = (double*)malloc(bytes);
    if (theirs == NULL) return 0;
    const int ok = rank == 0 ? put(values, bytes) && get(theirs, bytes)
                             : get(theirs, bytes) && put(values, bytes);
    for (int64_t i = 0; i < count; ++i)
        if (theirs[i] > values[i]) values[i] = theirs[i];
    free(theirs);
    return ok;
}

/* A copy moves the bytes of any of them. */
static int takes(int element) {
    return element >= 0;
}

/* As between ranks of tutti on one host. */
static void prepare(void) {
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    cpu_set_t allowed, mine;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
    int place = -1;
    for (int seen = -1; seen < rank;) seen += CPU_ISSET(++place, &allowed) ? 1 : 0;
    CPU_ZERO(&mine);
    CPU_SET(place, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

/* Two processes with a connection. */
static pid_t divide(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr*)&at, size) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr*)&at, &size) != 0)
        die("there is no port to listen on");
    const pid_t child = fork();
    if (child < 0) die("there is no second process");
    if (child == 0) {
        rank = 1;
        connection = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(connection, (struct sockaddr*)&at, sizeof at) != 0) die("nobody answers");
    } else {
        connection = accept(listener, NULL, NULL);
        if (connection < 0) die("nobody connects");
    }
    close(listener);
    prepare();
    return child;
}

int main(int argc, char** argv) {
    const pid_t child = divide();
    const peer sockets = {
        {rank, 2, call, NULL, NULL, barrier, largest, NULL, NULL, NULL}, takes, die};
    int status = 0;
    measure_all(&sockets, argc, argv);
    if (rank == 0) waitpid(child, &status, 0);
    return status == 0 ? 0 : 2;
}
