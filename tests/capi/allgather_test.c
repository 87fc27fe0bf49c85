/* Groups that meet by an all-gather of the caller's: ranks as threads and as processes, and
 * callbacks that fail or return what no all-gather would. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"

#ifdef __cplusplus
extern "C" char** environ;
#else
extern char** environ;
#endif

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;

/* The things that the callbacks of a test do with what they have gathered. */
typedef enum fault {
    NONE,
    ZEROS,       /* nothing is written */
    REVERSED,    /* the ranks in the wrong order */
    HALF,        /* half of each place is written */
    FOREIGN,     /* this rank's own place holds what it did not give */
    FAILS,       /* returns TUTTI_ERR_NETWORK */
    FAILS_ODDLY, /* returns 77 */
    ONE_FAILS    /* rank 1 returns TUTTI_ERR_ABORTED */
} fault;

enum { MOST = 8, ROOM = 4096 };

/* The memory of an all-gather, shared by threads or processes. */
typedef struct board {
    pthread_barrier_t all_have_come;
    int32_t size;
    fault kind;
    size_t bytes[MOST];
    int32_t calls[MOST];
    unsigned char given[MOST][ROOM];
} board;

typedef struct seat {
    board* shared;
    int32_t rank;
    const char* backend;
    int32_t world_size; /* as this rank says */
    int64_t timeout_ms;
    tutti_status status;
    tutti_error error;
} seat;

static void begin(board* shared, int32_t size, fault kind) {
    pthread_barrierattr_t attributes;
    memset(shared, 0, sizeof *shared);
    shared->size = size;
    shared->kind = kind;
    assert_int_equal(pthread_barrierattr_init(&attributes), 0);
    assert_int_equal(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    assert_int_equal(pthread_barrier_init(&shared->all_have_come, &attributes, (unsigned)size), 0);
    pthread_barrierattr_destroy(&attributes);
}

static tutti_status gather(const void* input, void* output, size_t size, void* user,
                           tutti_error* told) {
    const seat* me = (const seat*)user;
    board* shared = me->shared;
    unsigned char* to = (unsigned char*)output;
    if (size > ROOM) return TUTTI_ERR_OUT_OF_MEMORY;
    ++shared->calls[me->rank];
    shared->bytes[me->rank] = size;
    memcpy(shared->given[me->rank], input, size);
    (void)pthread_barrier_wait(&shared->all_have_come);
    if (shared->kind == FAILS) {
        (void)snprintf(told->message, sizeof told->message, "the fabric is down");
        told->system_errno = ENETDOWN;
        return TUTTI_ERR_NETWORK;
    }
    if (shared->kind == FAILS_ODDLY) return 77;
    if (shared->kind == ONE_FAILS && me->rank == 1) return TUTTI_ERR_ABORTED;
    memset(to, 0, size * (size_t)me->world_size);
    for (int32_t rank = 0; rank < shared->size && rank < me->world_size; ++rank) {
        const int32_t from = shared->kind == REVERSED ? shared->size - 1 - rank : rank;
        const size_t part = shared->kind == HALF ? size / 2 : size;
        if (shared->kind == ZEROS) continue;
        memcpy(to + (size_t)rank * size, shared->given[from], part);
    }
    if (shared->kind == FOREIGN) to[(size_t)me->rank * size + size / 2] ^= 1;
    return TUTTI_OK;
}

/* Makes the group, and uses it. */
static void* take_part(void* place) {
    seat* me = (seat*)place;
    tutti_group* group = NULL;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    double sum = me->rank + 1;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&sum, 1, TUTTI_FLOAT64);
    options.timeout_ms = me->timeout_ms;
    tutti_error_init(&me->error, sizeof me->error);
    me->status = tutti_group_create_with_allgather(me->backend, gather, me, NULL, me->rank,
                                                   me->world_size, &options, &group, &me->error);
    if (me->status != TUTTI_OK) return NULL;
    me->status = tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error);
    if (me->status == TUTTI_OK && sum != me->world_size * (me->world_size + 1) / 2.0) {
        me->status = TUTTI_ERR_INTERNAL;
    }
    if (tutti_get_rank(group) != me->rank) me->status = TUTTI_ERR_INTERNAL;
    (void)tutti_destroy_process_group(group, NULL, NULL);
    tutti_group_release(group);
    return NULL;
}

static void run(board* shared, seat* seats, const char* backend, int32_t size, fault kind) {
    pthread_t threads[MOST];
    begin(shared, size, kind);
    for (int32_t rank = 0; rank < size; ++rank) {
        seats[rank].shared = shared;
        seats[rank].rank = rank;
        seats[rank].backend = backend;
        if (seats[rank].world_size == 0) seats[rank].world_size = size;
        assert_int_equal(pthread_create(&threads[rank], NULL, take_part, &seats[rank]), 0);
    }
    for (int32_t rank = 0; rank < size; ++rank) {
        assert_int_equal(pthread_join(threads[rank], NULL), 0);
        assert_int_equal(shared->calls[rank], 1);
        assert_int_equal(shared->bytes[rank], shared->bytes[0]);
    }
    pthread_barrier_destroy(&shared->all_have_come);
}

static void expect(const seat* me, tutti_status wanted, const char* fragment) {
    if (me->status == wanted && (wanted == TUTTI_OK || strstr(me->error.message, fragment))) return;
    print_error("rank %d: wanted %s and \"%s\", got %s and \"%s\"\n", (int)me->rank,
                tutti_status_name(wanted), fragment, tutti_status_name(me->status),
                me->error.message);
    fail();
}

static void threads_meet_by_a_callback(void** state) {
    static board shared;
    static const char* const backends[] = {"loopback", "gloo"};
    (void)state;
    for (int backend = 0; backend < 2; ++backend) {
        for (int32_t size = 1; size <= 5; ++size) {
            seat seats[MOST];
            memset(seats, 0, sizeof seats);
            run(&shared, seats, backends[backend], size, NONE);
            for (int32_t rank = 0; rank < size; ++rank) expect(&seats[rank], TUTTI_OK, "");
        }
    }
}

static void what_no_all_gather_returns_is_refused(void** state) {
    static board shared;
    static const struct {
        fault kind;
        tutti_status status;
        const char* fragment;
    } rows[] = {
        {ZEROS, bad, "callback: at the place of rank 0 its output has something else"},
        {REVERSED, bad, "callback: at the place of rank 0 its output has the input of rank 2"},
        {HALF, bad, "callback: at the place of rank 0 its output has something else"},
        {FOREIGN, bad, "another input than this rank's"},
        {FAILS, TUTTI_ERR_NETWORK,
         "the all-gather callback failed: it returned 9: the fabric is down"},
        {FAILS_ODDLY, TUTTI_ERR_BACKEND, "the all-gather callback failed: it returned 77"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        seat seats[MOST];
        memset(seats, 0, sizeof seats);
        run(&shared, seats, "loopback", 3, rows[i].kind);
        for (int32_t rank = 0; rank < 3; ++rank) {
            expect(&seats[rank], rows[i].status, rows[i].fragment);
        }
    }
}

static void ranks_that_disagree_are_told(void** state) {
    static board shared;
    seat seats[MOST];
    (void)state;
    memset(seats, 0, sizeof seats);
    seats[1].world_size = 3;
    run(&shared, seats, "loopback", 2, NONE);
    expect(&seats[0], TUTTI_ERR_MISMATCH, "rank 1 says that world_size is 3, and rank 0 says 2");
    assert_int_equal(seats[0].error.rank, 1);
    expect(&seats[1], TUTTI_ERR_MISMATCH, "rank 0 says that world_size is 2, and rank 1 says 3");
}

static void a_rank_whose_callback_failed_is_missed_by_the_others(void** state) {
    static board shared;
    seat seats[MOST];
    (void)state;
    memset(seats, 0, sizeof seats);
    for (int32_t rank = 0; rank < 3; ++rank) seats[rank].timeout_ms = 3000;
    run(&shared, seats, "gloo", 3, ONE_FAILS);
    expect(&seats[0], TUTTI_ERR_TIMEOUT, "rank 1");
    expect(&seats[1], TUTTI_ERR_ABORTED, "it returned 5");
    expect(&seats[2], TUTTI_ERR_TIMEOUT, "rank 1");
}

static void wrong_arguments_are_refused_before_the_callback(void** state) {
    static board shared;
    tutti_group* group = NULL;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    seat me;
    (void)state;
    memset(&me, 0, sizeof me);
    memset(&shared, 0, sizeof shared);
    me.shared = &shared;
    EXPECT_ERROR(
        tutti_group_create_with_allgather("gloo", NULL, &me, NULL, 0, 1, NULL, &group, &error), bad,
        "tutti_group_create_with_allgather: callback is NULL");
    EXPECT_ERROR(
        tutti_group_create_with_allgather("gloo", gather, &me, NULL, 1, 1, NULL, &group, &error),
        bad, "rank is 1");
    EXPECT_ERROR(
        tutti_group_create_with_allgather("gloo", gather, &me, NULL, 0, 0, NULL, &group, &error),
        bad, "world_size is 0");
    EXPECT_ERROR(
        tutti_group_create_with_allgather("gloo", gather, &me, NULL, 0, 1, NULL, NULL, &error), bad,
        "out_group is NULL");
    EXPECT_ERROR(
        tutti_group_create_with_allgather("pigeon", gather, &me, NULL, 0, 1, NULL, &group, &error),
        TUTTI_ERR_UNSUPPORTED, "pigeon");
    options.timeout_ms = -2;
    EXPECT_ERROR(tutti_group_create_with_allgather("gloo", gather, &me, NULL, 0, 1, &options,
                                                   &group, &error),
                 bad, "timeout_ms is -2");
    assert_null(group);
    assert_int_equal(shared.calls[0], 0);
}

static board* map_board(const char* path, int flags) {
    const int descriptor = open(path, O_RDWR | flags, 0600);
    void* memory = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, sizeof(board)) == 0) {
        memory = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (descriptor >= 0) close(descriptor);
    return memory == MAP_FAILED ? NULL : (board*)memory;
}

/* One rank as a process: allgather_test BOARD RANK. */
static int be_a_process(const char* path, const char* rank) {
    seat me;
    memset(&me, 0, sizeof me);
    me.shared = map_board(path, 0);
    if (me.shared == NULL) return 2;
    me.rank = atoi(rank);
    me.world_size = me.shared->size;
    me.backend = "gloo";
    (void)take_part(&me);
    if (me.status != TUTTI_OK) fprintf(stderr, "rank %s: %s\n", rank, me.error.message);
    return me.status == TUTTI_OK ? 0 : 1;
}

static void processes_meet_by_a_callback(void** state) {
    enum { SIZE = 4 };
    char directory[] = "/tmp/tutti_allgather_test_XXXXXX";
    char path[sizeof directory + 8];
    pid_t children[SIZE];
    (void)state;
    assert_non_null(mkdtemp(directory));
    (void)snprintf(path, sizeof path, "%s/board", directory);
    board* shared = map_board(path, O_CREAT | O_EXCL);
    assert_non_null(shared);
    begin(shared, SIZE, NONE);
    for (int rank = 0; rank < SIZE; ++rank) {
        char number[16];
        char name[] = "allgather_test";
        char* arguments[] = {name, path, number, NULL};
        (void)snprintf(number, sizeof number, "%d", rank);
        assert_int_equal(
            posix_spawn(&children[rank], "/proc/self/exe", NULL, NULL, arguments, environ), 0);
    }
    for (int rank = 0; rank < SIZE; ++rank) {
        int ended = -1;
        assert_int_equal(waitpid(children[rank], &ended, 0), children[rank]);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
        assert_int_equal(shared->calls[rank], 1);
    }
    pthread_barrier_destroy(&shared->all_have_come);
    (void)munmap(shared, sizeof *shared);
    (void)unlink(path);
    (void)rmdir(directory);
}

int main(int argc, char** argv) {
    const struct CMUnitTest tests[] = {
        TEST(threads_meet_by_a_callback),
        TEST(what_no_all_gather_returns_is_refused),
        TEST(ranks_that_disagree_are_told),
        TEST(a_rank_whose_callback_failed_is_missed_by_the_others),
        TEST(wrong_arguments_are_refused_before_the_callback),
        TEST(processes_meet_by_a_callback),
    };
    if (argc == 3) return be_a_process(argv[1], argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
