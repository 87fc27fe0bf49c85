/* A proxy that fails on purpose; see proxy.h. */
#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockets.h"

enum { MOST_PAIRS = 64, ROOM = 64 * 1024 };

/* A connection: the client's end and the server's. By direction, `end` is where bytes come from. */
typedef struct pair {
    int end[2];
} pair;

struct proxy {
    int listener, wake[2];
    int32_t port, server_port;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    int ending, dropping;
    size_t piece;
    int fails;
    proxy_fault fault;
    proxy_direction direction;
    size_t left; /* bytes before it fails */
    /* The thread's own. */
    pair pairs[MOST_PAIRS];
    int count;
    char bytes[ROOM];
};

static void must(int happened, const char* what) {
    if (happened) return;
    fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
    abort();
}

static void without_delay(int fd) {
    const int yes = 1;
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
}

static void accept_one(proxy* between) {
    const struct sockaddr_in address = loopback_address(between->server_port);
    pair* made = &between->pairs[between->count];
    must(between->count < MOST_PAIRS, "too many connections");
    made->end[TO_SERVER] = accept(between->listener, NULL, NULL);
    must(made->end[TO_SERVER] >= 0, "accept");
    made->end[TO_CLIENT] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(made->end[TO_CLIENT] >= 0, "socket");
    if (connect(made->end[TO_CLIENT], (const struct sockaddr*)&address, sizeof address) != 0) {
        close(made->end[TO_SERVER]);
        close(made->end[TO_CLIENT]);
        return;
    }
    without_delay(made->end[TO_SERVER]);
    without_delay(made->end[TO_CLIENT]);
    ++between->count;
}

static void close_pair(proxy* between, int index, int reset) {
    const struct linger at_once = {1, 0};
    pair* gone = &between->pairs[index];
    for (int side = 0; side < 2; ++side) {
        if (reset) setsockopt(gone->end[side], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(gone->end[side]);
    }
    *gone = between->pairs[--between->count];
}

static void close_pairs(proxy* between, int reset) {
    while (between->count > 0) close_pair(between, between->count - 1, reset);
}

static int stalled(const proxy* between) {
    return between->fails && between->fault == STALL && between->left == 0;
}

/* Carries a piece; 0 when the pair is gone. */
static int carry(proxy* between, int index, proxy_direction direction) {
    const pair* on = &between->pairs[index];
    const int limited = between->fails && between->direction == direction;
    size_t size = between->piece < ROOM ? between->piece : ROOM;
    if (limited && size > between->left) size = between->left;
    const ssize_t got = size == 0 ? 0 : recv(on->end[direction], between->bytes, size, 0);
    int broken = size > 0 && got <= 0;
    for (ssize_t done = 0; !broken && done < got;) {
        const ssize_t sent =
            send(on->end[1 - direction], between->bytes + done, (size_t)(got - done), MSG_NOSIGNAL);
        broken = sent < 0;
        done += sent;
    }
    if (limited && got > 0) between->left -= (size_t)got;
    const int fails = limited && between->left == 0 && between->fault != STALL;
    if (fails)
        close_pairs(between, between->fault == RESET);
    else if (broken)
        close_pair(between, index, 0);
    return !fails && !broken;
}

static void look(proxy* between, const struct pollfd* ends) {
    for (int index = between->count - 1; index >= 0; --index) {
        for (int direction = 0; direction < 2; ++direction) {
            if (index >= between->count || stalled(between)) break;
            if (ends[2 * index + direction].revents == 0) continue;
            if (!carry(between, index, (proxy_direction)direction)) break;
        }
    }
}

static void* run(void* argument) {
    proxy* between = (proxy*)argument;
    struct pollfd all[2 + 2 * MOST_PAIRS];
    int ending = 0;
    while (!ending) {
        all[0] = (struct pollfd){between->wake[0], POLLIN, 0};
        all[1] = (struct pollfd){between->listener, POLLIN, 0};
        const int count = between->count;
        pthread_mutex_lock(&between->mutex);
        const short wanted = stalled(between) ? 0 : POLLIN;
        pthread_mutex_unlock(&between->mutex);
        for (int i = 0; i < 2 * count; ++i)
            all[2 + i] = (struct pollfd){wanted ? between->pairs[i / 2].end[i % 2] : -1, wanted, 0};
        must(poll(all, (nfds_t)(2 + 2 * count), -1) > 0, "poll");
        pthread_mutex_lock(&between->mutex);
        if (all[0].revents != 0) must(read(between->wake[0], between->bytes, ROOM) > 0, "wake");
        ending = between->ending;
        if (between->dropping || ending)
            close_pairs(between, 0);
        else
            look(between, all + 2);
        between->dropping = 0;
        if (all[1].revents != 0 && !ending) accept_one(between);
        pthread_mutex_unlock(&between->mutex);
    }
    return NULL;
}

proxy* proxy_open(int32_t server_port) {
    proxy* between = (proxy*)calloc(1, sizeof *between);
    struct sockaddr_in address = loopback_address(0);
    socklen_t length = sizeof address;
    must(between != NULL, "out of memory");
    between->server_port = server_port;
    between->piece = ROOM;
    between->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(between->listener >= 0, "socket");
    must(bind(between->listener, (const struct sockaddr*)&address, sizeof address) == 0, "bind");
    must(listen(between->listener, MOST_PAIRS) == 0, "listen");
    must(getsockname(between->listener, (struct sockaddr*)&address, &length) == 0, "getsockname");
    between->port = ntohs(address.sin_port);
    must(pipe2(between->wake, O_CLOEXEC) == 0, "pipe");
    must(pthread_mutex_init(&between->mutex, NULL) == 0, "mutex");
    must(pthread_create(&between->thread, NULL, run, between) == 0, "thread");
    return between;
}

int32_t proxy_port(const proxy* between) {
    return between->port;
}

/* Lets the thread see what was changed. */
static void unlock_and_wake(proxy* between) {
    must(write(between->wake[1], ".", 1) == 1, "wake");
    pthread_mutex_unlock(&between->mutex);
}

void proxy_carry(proxy* between, size_t piece) {
    pthread_mutex_lock(&between->mutex);
    between->piece = piece;
    between->fails = 0;
    unlock_and_wake(between);
}

void proxy_fail(proxy* between, proxy_fault fault, proxy_direction direction, size_t after) {
    pthread_mutex_lock(&between->mutex);
    between->fails = 1;
    between->fault = fault;
    between->direction = direction;
    between->left = after;
    unlock_and_wake(between);
}

void proxy_drop(proxy* between) {
    pthread_mutex_lock(&between->mutex);
    between->dropping = 1;
    unlock_and_wake(between);
}

void proxy_close(proxy* between) {
    pthread_mutex_lock(&between->mutex);
    between->ending = 1;
    unlock_and_wake(between);
    pthread_join(between->thread, NULL);
    pthread_mutex_destroy(&between->mutex);
    close(between->listener);
    close(between->wake[0]);
    close(between->wake[1]);
    free(between);
}
