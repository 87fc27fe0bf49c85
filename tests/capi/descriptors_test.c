/* Which descriptors the library has: none that belongs to a standard stream, whichever of those the
 * program was started without, and none that a program which a rank starts would inherit. The ranks
 * are processes: this program, executed again. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"
#include "support/sanitizers.h"

enum { RANKS = 2, LAST_STANDARD = 2, ALL_CLOSED = 7 };

/* The exit status of a rank. */
enum {
    GOOD,
    CALL_FAILED,
    NUMBER_TAKEN, /* a standard number is not closed any more, or not open */
    PRINTED,      /* a closed standard number could be written */
    NOT_LOWEST,   /* a file that the program opened did not get the number that was free */
    INHERITED,    /* a descriptor is not closed by exec */
    CHILD_INHERITED,
    WRONG_SUM,
    CONNECTED /* data has a connection, and needs none */
};

static int is_open(int number) {
    return fcntl(number, F_GETFD) >= 0;
}

/* While another thread of the library opens something, the closed ones are taken by what cannot be
 * read or written. */
static int is_placeholder(int number) {
    const int flags = fcntl(number, F_GETFL);
    return flags >= 0 && (flags & O_PATH) != 0;
}

static int are_standard_numbers_as(int closed) {
    for (int number = 0; number <= LAST_STANDARD; ++number) {
        const int is_closed = !is_open(number) || is_placeholder(number);
        if (is_closed != (closed >> number & 1)) return 0;
    }
    return 1;
}

/* A descriptor above the standard ones; -1: none. */
static int one_that_exec_keeps(void) {
    int found = -1;
    DIR* const all = opendir("/proc/self/fd");
    if (all == NULL) return 0;
    for (const struct dirent* entry = readdir(all); entry != NULL; entry = readdir(all)) {
        const int number = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || number <= LAST_STANDARD || number == dirfd(all)) continue;
        const int flags = fcntl(number, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0) found = number;
    }
    (void)closedir(all);
    return found;
}

/* Writes to the standard numbers that are closed, as fast as it can. */
typedef struct printer {
    int closed;
    int goes_on; /* atomic */
    int printed; /* atomic */
} printer;

static void* print(void* argument) {
    printer* const self = (printer*)argument;
    while (__atomic_load_n(&self->goes_on, __ATOMIC_SEQ_CST)) {
        for (int number = 1; number <= LAST_STANDARD; ++number) {
            if ((self->closed >> number & 1) == 0) continue;
            if (write(number, "eight by", 8) >= 0 || errno != EBADF) {
                __atomic_store_n(&self->printed, 1, __ATOMIC_SEQ_CST);
            }
        }
    }
    return NULL;
}

static int use_group(int32_t size) {
    tutti_call_options* const none = NULL;
    for (int64_t i = 0; i < 10; ++i) {
        int64_t numbers[300];
        for (int64_t k = 0; k < 300; ++k) numbers[k] = i + k;
        const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, 300, TUTTI_INT64);
        if (tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, none, NULL, &error)) {
            return CALL_FAILED;
        }
        for (int64_t k = 0; k < 300; ++k) {
            if (numbers[k] != (i + k) * size) return WRONG_SUM;
        }
    }
    return GOOD;
}

/* A file that the program opens gets the lowest number that is free, unless the library is opening
 * something: then the next one does. */
static int opens_the_lowest(int closed) {
    int lowest = 0, right = 0;
    while (lowest <= LAST_STANDARD && (closed >> lowest & 1) == 0) ++lowest;
    for (int turn = 0; turn < 10000 && !right; ++turn) {
        const int number = open("/dev/null", O_RDONLY | O_CLOEXEC); /* not to be printed to */
        right = lowest > LAST_STANDARD ? number > LAST_STANDARD : number == lowest;
        (void)close(number);
    }
    return right;
}

static int port_of(const struct sockaddr_storage* address) {
    if (address->ss_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        return ntohs(four.sin_port);
    }
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof six);
    return ntohs(six.sin6_port);
}

/* The connections of this process over TCP, but for those to the store. */
static int count_connections(void) {
    const int store = atoi(getenv("MASTER_PORT"));
    int count = 0;
    for (int number = 0; number < 1024; ++number) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        if (getpeername(number, (struct sockaddr*)&peer, &size) != 0) continue;
        const int is_tcp = peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
        if (is_tcp && port_of(&peer) != store) ++count;
    }
    return count;
}

static int send_and_receive(tutti_group* group, int64_t count) {
    int64_t* const numbers = (int64_t*)calloc((size_t)count, sizeof *numbers);
    if (numbers == NULL) return 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(numbers, count, TUTTI_INT64);
    const int failed = tutti_get_rank(group) == 0
                           ? tutti_send(group, &buffer, 1, 0, NULL, NULL, &error)
                           : tutti_recv(group, &buffer, 0, 0, NULL, NULL, NULL, &error);
    free(numbers);
    return failed;
}

/* Rank 1's only connection over shared memory: the connection to the coordinator. */
static int be_rank_over_shared_memory(void) {
    enum { OF_MEMBERSHIP = 1, LARGE = 1000000 };
    tutti_group* split = NULL;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = 30000;
    int failed = tutti_init_process_group("shm", NULL, NULL, -1, -1, &options, &error) ||
                 use_group(RANKS) != GOOD || send_and_receive(TUTTI_GROUP_WORLD, 1) ||
                 send_and_receive(TUTTI_GROUP_WORLD, LARGE) ||
                 tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, NULL, NULL, &split, &error) ||
                 send_and_receive(split, LARGE) || tutti_barrier(split, NULL, NULL, &error);
    const int too_many =
        tutti_get_rank(TUTTI_GROUP_WORLD) == 1 && count_connections() != OF_MEMBERSHIP;
    failed = failed || tutti_barrier(TUTTI_GROUP_WORLD, NULL, NULL, &error) ||
             tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error);
    return failed ? CALL_FAILED : too_many ? CONNECTED : GOOD;
}

static int with_stores_and_groups(const char* backend, int closed) {
    char path[] = "/tmp/tutti.descriptors.XXXXXX";
    tutti_store *tcp = NULL, *file = NULL;
    tutti_group *gloo = NULL, *split = NULL;
    void* memory = NULL;
    if (mkdtemp(path) == NULL) return CALL_FAILED;
    char name[64];
    (void)snprintf(name, sizeof name, "%s/store", path);
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = 30000;
    int failed = tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &tcp, &error) ||
                 tutti_store_set(tcp, "a", "1", 1, &error) ||
                 tutti_file_store_create(name, 1, NULL, &file, &error) ||
                 tutti_store_set(file, "a", "1", 1, &error) ||
                 tutti_init_process_group(backend, NULL, NULL, -1, -1, &options, &error) ||
                 tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, "gloo", NULL, NULL, &gloo, &error) ||
                 tutti_new_group(TUTTI_GROUP_WORLD, NULL, 0, NULL, NULL, NULL, &split, &error) ||
                 tutti_memory_alloc(TUTTI_GROUP_WORLD, 100000, NULL, &memory, &error);
    int verdict = failed ? CALL_FAILED : use_group(RANKS);
    if (verdict == GOOD && !are_standard_numbers_as(closed)) verdict = NUMBER_TAKEN;
    if (verdict == GOOD && !opens_the_lowest(closed)) verdict = NOT_LOWEST;
    if (verdict == GOOD && one_that_exec_keeps() >= 0) verdict = INHERITED;
    if (verdict == GOOD && closed == 0 && system("exec /proc/$PPID/exe inherited") != 0) {
        verdict = CHILD_INHERITED;
    }
    failed = tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error);
    if (verdict == GOOD && failed) verdict = CALL_FAILED;
    tutti_store_release(tcp);
    tutti_store_release(file);
    (void)unlink(name);
    (void)rmdir(path);
    return verdict;
}

static int be_rank(const char* backend, int closed) {
    if (strcmp(backend, "only shm") == 0) return be_rank_over_shared_memory();
    printer self = {closed, 1, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, print, &self) != 0) return CALL_FAILED;
    int verdict = with_stores_and_groups(backend, closed);
    __atomic_store_n(&self.goes_on, 0, __ATOMIC_SEQ_CST);
    (void)pthread_join(thread, NULL);
    if (verdict == GOOD && self.printed) verdict = PRINTED;
    if (verdict == GOOD && !are_standard_numbers_as(closed)) verdict = NUMBER_TAKEN;
    if (verdict != GOOD && is_open(2)) {
        (void)fprintf(stderr, "rank of %s ends with %d: %s\n", backend, verdict, error.message);
    }
    return verdict;
}

static void set_number(const char* name, int number) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", number);
    (void)setenv(name, text, 1);
}

static pid_t start_rank(int rank, int port, const char* backend, int closed) {
    const pid_t child = fork();
    if (child != 0) return child;
    set_number("RANK", rank);
    set_number("WORLD_SIZE", RANKS);
    set_number("MASTER_PORT", port);
    (void)setenv("MASTER_ADDR", "127.0.0.1", 1);
    (void)setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    if (strcmp(backend, "hierarchy") == 0) (void)setenv("TUTTI_HOSTS", "0,1", 1);
    char mask[2] = {(char)('0' + closed), '\0'};
    for (int number = 0; number <= LAST_STANDARD; ++number) {
        if (closed >> number & 1) (void)close(number);
    }
    (void)execl("/proc/self/exe", "rank", "rank", backend, mask, (char*)NULL);
    _exit(127);
}

static void runs(const char* backend, int closed) {
    tutti_store* store = NULL;
    int32_t port = 0;
    pid_t ranks[RANKS];
    EXPECT_OK(tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &store, &error));
    EXPECT_OK(tutti_tcp_store_port(store, &port, &error));
    for (int rank = 0; rank < RANKS; ++rank) ranks[rank] = start_rank(rank, port, backend, closed);
    int wrong = 0;
    for (int rank = 0; rank < RANKS; ++rank) {
        int ended = -1;
        (void)waitpid(ranks[rank], &ended, 0);
        if (ended == 0) continue;
        print_error("%s without the descriptors of mask %d: rank %d: %s %d\n", backend, closed,
                    rank, WIFEXITED(ended) ? "exit code" : "signal",
                    WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended));
        ++wrong;
    }
    tutti_store_release(store);
    assert_int_equal(wrong, 0);
}

/* Sanitizers open pipes and files of their own, which get the closed numbers. */
static void skip_for_their_own_files(void) {
    print_message("skipped: a sanitizer takes the numbers of closed descriptors itself\n");
    skip();
}

#define RUNS_WITHOUT_ANY_OF_THEM(backend)                                \
    static void backend##_runs_without_standard_streams(void** state) {  \
        (void)state;                                                     \
        if (SANITIZED) skip_for_their_own_files();                       \
        for (int closed = 1; closed <= ALL_CLOSED; ++closed) {           \
            runs(#backend, closed);                                      \
        }                                                                \
    }                                                                    \
    static void backend##_keeps_nothing_open_across_exec(void** state) { \
        (void)state;                                                     \
        runs(#backend, 0);                                               \
    }

RUNS_WITHOUT_ANY_OF_THEM(gloo)
RUNS_WITHOUT_ANY_OF_THEM(shm)
RUNS_WITHOUT_ANY_OF_THEM(hierarchy)

static void shm_opens_no_connection(void** state) {
    (void)state;
    runs("only shm", 0);
}

int main(int count, char** arguments) {
    if (count > 1 && strcmp(arguments[1], "inherited") == 0) {
        for (int number = LAST_STANDARD + 1; number < 1024; ++number) {
            if (is_open(number)) return 1;
        }
        return 0;
    }
    if (count > 3) return be_rank(arguments[2], arguments[3][0] - '0');
    /* Descriptors that were open before this test are not the library's. */
    for (int number = LAST_STANDARD + 1; number < 1024; ++number) (void)close(number);
    const struct CMUnitTest tests[] = {
        TEST(gloo_runs_without_standard_streams),
        TEST(gloo_keeps_nothing_open_across_exec),
        TEST(shm_runs_without_standard_streams),
        TEST(shm_keeps_nothing_open_across_exec),
        TEST(shm_opens_no_connection),
        TEST(hierarchy_runs_without_standard_streams),
        TEST(hierarchy_keeps_nothing_open_across_exec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
