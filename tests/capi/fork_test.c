/* A child of fork and its parent's tutti: nothing that is open, and calls that say so. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"
#include "support/ranks.h"

static char directory[] = "/tmp/tutti.fork.XXXXXX";

/* How many sockets, and files of `directory`, this process has open. */
static int count_open(void) {
    int found = 0;
    DIR* all = opendir("/proc/self/fd");
    if (all == NULL) return -1;
    for (const struct dirent* entry = readdir(all); entry != NULL; entry = readdir(all)) {
        char path[64], target[256];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%.16s", entry->d_name);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = '\0';
        if (strncmp(target, "socket:", 7) == 0 || strstr(target, directory) != NULL) ++found;
    }
    (void)closedir(all);
    return found;
}

/* Before the first use of tutti. */
static int at_start;

/* A released handle ends in the background. */
static void wait_for_the_end_of_all(void) {
    while (count_open() != at_start) (void)sched_yield();
}

/* The child's count and exit status; 99 if a call of tutti did not say what it should. */
static int ask_child(tutti_group* group) {
    int ended = -1;
    const pid_t child = fork();
    if (child == 0) {
        tutti_error fault = TUTTI_ERROR_INIT;
        const tutti_status status = tutti_barrier(group, NULL, NULL, &fault);
        const int refused =
            status == TUTTI_ERR_UNSUPPORTED && strstr(fault.message, "tutti_spawn") != NULL;
        _exit(refused ? count_open() : 99);
    }
    if (child < 0 || waitpid(child, &ended, 0) != child || !WIFEXITED(ended)) return -1;
    return WEXITSTATUS(ended);
}

static void fork_among_ranks(rank_context* me) {
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error));
    if (me->rank == 0) {
        RANK_EXPECT(me, count_open() > at_start);
        RANK_EXPECT(me, ask_child(me->group) == at_start);
    }
    RANK_OK(me, tutti_barrier(me->group, NULL, NULL, &me->error)); /* the parent lost nothing */
}

static void a_child_has_no_connections_of_groups(void** state) {
    (void)state;
    assert_int_equal(run_ranks("gloo", 3, fork_among_ranks, NULL), 0);
    wait_for_the_end_of_all();
}

static void a_child_has_no_stores_open(void** state) {
    (void)state;
    tutti_store *served = NULL, *reached = NULL;
    tutti_group* group = NULL;
    int32_t port = 0;
    EXPECT_OK(tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &served, &error));
    EXPECT_OK(tutti_tcp_store_port(served, &port, &error));
    EXPECT_OK(tutti_tcp_store_create("127.0.0.1", port, -1, 0, NULL, &reached, &error));
    EXPECT_OK(tutti_store_set(reached, "key", "value", 5, &error));
    assert_true(count_open() > at_start);
    assert_int_equal(ask_child(group), at_start);
    EXPECT_OK(tutti_store_set(reached, "key", "value", 5, &error));
    tutti_store_release(reached);
    tutti_store_release(served);
    wait_for_the_end_of_all();
}

#define FORKS 100
static int forks_left; /* atomic */

static void* open_and_close(void* port) {
    while (__atomic_load_n(&forks_left, __ATOMIC_SEQ_CST) > 0) {
        tutti_store* store = NULL;
        if (tutti_tcp_store_create("127.0.0.1", *(const int32_t*)port, -1, 0, NULL, &store, NULL)) {
            break;
        }
        tutti_store_release(store);
    }
    return NULL;
}

static void a_child_has_nothing_that_others_were_opening_or_closing(void** state) {
    (void)state;
    tutti_store* served = NULL;
    int32_t port = 0;
    pthread_t others[2];
    EXPECT_OK(tutti_tcp_store_create("127.0.0.1", 0, -1, 1, NULL, &served, &error));
    EXPECT_OK(tutti_tcp_store_port(served, &port, &error));
    __atomic_store_n(&forks_left, FORKS, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_create(&others[i], NULL, open_and_close, &port), 0);
    }
    int wrong = 0;
    do {
        wrong += ask_child(NULL) != at_start;
    } while (__atomic_sub_fetch(&forks_left, 1, __ATOMIC_SEQ_CST) > 0);
    for (int i = 0; i < 2; ++i) (void)pthread_join(others[i], NULL);
    assert_int_equal(wrong, 0);
    tutti_store_release(served);
    wait_for_the_end_of_all();
}

static void what_the_program_opens_is_its_own(void** state) {
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/file", directory);
    /* Under the numbers that tutti has had. */
    assert_int_equal(run_ranks("gloo", 2, fork_among_ranks, NULL), 0);
    wait_for_the_end_of_all();
    FILE* files[32];
    for (int i = 0; i < 32; ++i) {
        files[i] = fopen(path, "w");
        assert_non_null(files[i]);
    }
    assert_int_equal(ask_child(NULL), at_start + 32);
    for (int i = 0; i < 32; ++i) (void)fclose(files[i]);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_child_has_no_connections_of_groups),
        TEST(a_child_has_no_stores_open),
        TEST(a_child_has_nothing_that_others_were_opening_or_closing),
        TEST(what_the_program_opens_is_its_own),
    };
    if (mkdtemp(directory) == NULL) return 1;
    at_start = count_open();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)rmdir(directory);
    return failed;
}
