/* A store's server as a process, and raw connections to it; see server.h. */
#include "server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/contract.h"

extern char** environ;

static const int64_t timeout_s = 60;
static const int look_again_ms = 5;

int allow_descriptors(size_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    if (limit.rlim_cur >= wanted) return 1;
    limit.rlim_cur = wanted;
    if (limit.rlim_max < wanted) limit.rlim_max = wanted; /* root may */
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void serve_if_asked(int argc, char** argv) {
    if (argc < 2 || strcmp(argv[1], "serve") != 0) return;
    tutti_store* store = NULL;
    int32_t port = 0;
    if (tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &store, &error) != TUTTI_OK ||
        tutti_tcp_store_port(store, &port, &error) != TUTTI_OK) {
        fprintf(stderr, "the server: %s\n", error.message);
        exit(1);
    }
    printf("%d\n", (int)port);
    fflush(stdout);
    (void)getchar(); /* until the test closes the other end */
    tutti_store_release(store);
    exit(0);
}

int server_open(void** state) {
    server_process* server = (server_process*)calloc(1, sizeof *server);
    char* const arguments[] = {(char*)"server", (char*)"serve", NULL};
    posix_spawn_file_actions_t actions;
    int to[2], from[2];
    if (server == NULL || pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    const int failed =
        posix_spawn(&server->pid, "/proc/self/exe", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    server->to = to[1];
    FILE* said = fdopen(from[0], "r");
    int port = 0;
    const int heard = failed == 0 && said != NULL && fscanf(said, "%d", &port) == 1;
    if (said != NULL) fclose(said);
    server->port = port;
    *state = server;
    return heard ? 0 : -1;
}

int server_close(void** state) {
    server_process* server = (server_process*)*state;
    int status = 0;
    close(server->to);
    const int ended = waitpid(server->pid, &status, 0) == server->pid;
    if (status != 0) print_error("the server ended with %#x\n", (unsigned)status);
    free(server);
    return ended && status == 0 ? 0 : -1;
}

static long status_field(const server_process* server, const char* format) {
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    FILE* file = fopen(path, "re");
    assert_non_null(file);
    while (value < 0 && fgets(line, sizeof line, file) != NULL) (void)sscanf(line, format, &value);
    fclose(file);
    assert_true(value >= 0);
    return value;
}

long server_memory_kib(const server_process* server) {
    return status_field(server, "VmRSS: %ld");
}

long server_peak_kib(const server_process* server) {
    return status_field(server, "VmHWM: %ld");
}

int server_descriptors(const server_process* server) {
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)server->pid);
    DIR* folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL) ++count;
    closedir(folder);
    return count - 2; /* "." and ".." */
}

void server_await_descriptors(const server_process* server, int wanted) {
    const time_t limit = time(NULL) + timeout_s;
    while (server_descriptors(server) != wanted) {
        if (time(NULL) > limit)
            fail_msg("the server has %d descriptors instead of %d", server_descriptors(server),
                     wanted);
        poll(NULL, 0, look_again_ms);
    }
}

tutti_status server_client(const server_process* server, tutti_store** out_store,
                           tutti_error* fault) {
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.no_wait_for_workers = 1;
    return tutti_tcp_store_create("127.0.0.1", server->port, -1, 0, &options, out_store, fault);
}

int raw_connect(const server_process* server) {
    const struct timeval limit = {timeout_s, 0};
    struct sockaddr_in address = {0};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)server->port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(connect(fd, (const struct sockaddr*)&address, sizeof address), 0);
    return fd;
}

static int hung_up(int number) {
    return number == ECONNRESET || number == EPIPE;
}

int raw_send(int fd, const void* bytes, size_t size) {
    const char* at = (const char*)bytes;
    while (size > 0) {
        const ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && hung_up(errno)) return 0;
        if (sent < 0) fail_msg("sending to the server: %s", strerror(errno));
        at += sent;
        size -= (size_t)sent;
    }
    return 1;
}

size_t raw_receive(int fd, void* bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        const ssize_t got = recv(fd, (char*)bytes + done, size - done, 0);
        if (got == 0 || (got < 0 && hung_up(errno))) break;
        if (got < 0) fail_msg("receiving from the server: %s", strerror(errno));
        done += (size_t)got;
    }
    return done;
}

char* put_greeting(char* to) {
    memcpy(to, "\x00\xCE\xF7\x85\x3C", 5);
    return to + 5;
}

char* put_number(char* to, uint64_t value) {
    for (int i = 0; i < 8; ++i) *to++ = (char)(value >> (8 * i));
    return to;
}

char* put_string(char* to, const void* bytes, size_t size) {
    to = put_number(to, size);
    if (size > 0) memcpy(to, bytes, size);
    return to + size;
}
