/* Groups from the first meeting to the end: the default group, groups without global state, what
 * making one refuses, and fork. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract.h"
#include "support/held_port.h"

static const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
static char directory[] = "/tmp/tutti_group_test_XXXXXX";
static char url[sizeof directory + 16];

static const char* const variables[] = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE",
                                        "TORCHELASTIC_USE_AGENT_STORE"};

static int clear_variables(void** state) {
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) (void)unsetenv(variables[i]);
    return 0;
}

static void use_the_default_group(void) {
    double value = 3;
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_FLOAT64);
    assert_int_equal(tutti_is_initialized(), 1);
    assert_int_equal(tutti_get_rank(TUTTI_GROUP_WORLD), 0);
    assert_int_equal(tutti_get_world_size(TUTTI_GROUP_WORLD), 1);
    assert_string_equal(tutti_get_backend(TUTTI_GROUP_WORLD), "loopback");
    EXPECT_OK(tutti_all_reduce(TUTTI_GROUP_WORLD, NULL, &buffer, TUTTI_SUM, NULL, NULL, &error));
    assert_true(value == 3);
    EXPECT_ERROR(tutti_init_process_group("loopback", url, NULL, 0, 1, NULL, &error), bad,
                 "already");
    tutti_group_release(TUTTI_GROUP_WORLD); /* ignored */
    assert_int_equal(tutti_is_initialized(), 1);
    EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    assert_int_equal(tutti_is_initialized(), 0);
    assert_int_equal(tutti_get_rank(TUTTI_GROUP_WORLD), -1);
    assert_int_equal(tutti_get_world_size(TUTTI_GROUP_WORLD), -1);
    assert_null(tutti_get_backend(TUTTI_GROUP_WORLD));
    EXPECT_ERROR(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error),
                 TUTTI_ERR_INVALID_HANDLE, "tutti_init_process_group");
}

static void the_default_group_begins_ends_and_begins_again(void** state) {
    (void)state;
    assert_int_equal(tutti_is_initialized(), 0);
    for (int i = 0; i < 3; ++i) {
        EXPECT_OK(tutti_init_process_group("loopback", url, NULL, 0, 1, NULL, &error));
        use_the_default_group();
    }
}

static void the_default_group_meets_at_a_store(void** state) {
    (void)state;
    tutti_store* store = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_init_process_group_with_store("LoopBack", store, NULL, 0, 1, NULL, &error));
    EXPECT_ERROR(tutti_init_process_group_with_store("loopback", store, NULL, 0, 1, NULL, &error),
                 bad, "already");
    tutti_store_release(store);
    use_the_default_group();
}

static void the_default_group_meets_by_the_environment(void** state) {
    (void)state;
    const held_port held = hold_port();
    char port[16];
    (void)snprintf(port, sizeof port, "%d", (int)held.number);
    EXPECT_ERROR(tutti_init_process_group("loopback", NULL, NULL, -1, -1, NULL, &error), bad,
                 "RANK");
    (void)setenv("RANK", "0", 1);
    EXPECT_ERROR(tutti_init_process_group("loopback", NULL, NULL, -1, -1, NULL, &error), bad,
                 "WORLD_SIZE");
    (void)setenv("WORLD_SIZE", "one", 1);
    EXPECT_ERROR(tutti_init_process_group("loopback", NULL, NULL, -1, -1, NULL, &error), bad,
                 "WORLD_SIZE is \"one\"");
    (void)setenv("WORLD_SIZE", "1", 1);
    EXPECT_ERROR(tutti_init_process_group("loopback", NULL, NULL, 1, 2, NULL, &error), bad,
                 "MASTER_ADDR is not set");
    (void)setenv("MASTER_ADDR", "localhost", 1);
    EXPECT_ERROR(tutti_init_process_group("loopback", NULL, NULL, -1, -1, NULL, &error), bad,
                 "MASTER_PORT");
    (void)setenv("MASTER_PORT", port, 1);
    for (int i = 0; i < 3; ++i) { /* the port is free again each time */
        EXPECT_OK(tutti_init_process_group("loopback", NULL, NULL, -1, -1, NULL, &error));
        use_the_default_group();
    }
    close(held.holder);
}

static void the_default_group_meets_at_an_address(void** state) {
    (void)state;
    const held_port held = hold_port();
    char address[64];
    (void)snprintf(address, sizeof address, "tcp://localhost:%d", (int)held.number);
    EXPECT_OK(tutti_init_process_group("loopback", address, NULL, 0, 1, NULL, &error));
    use_the_default_group();
    close(held.holder);
    EXPECT_ERROR(tutti_init_process_group("loopback", address, NULL, -1, 1, NULL, &error), bad,
                 "rank");
    EXPECT_ERROR(tutti_init_process_group("loopback", "tcp://host", NULL, 0, 1, NULL, &error), bad,
                 "port");
    EXPECT_ERROR(tutti_init_process_group("loopback", "smoke://hill", NULL, 0, 1, NULL, &error),
                 bad, "smoke://hill");
}

static void wrong_members_and_backends_are_refused(void** state) {
    (void)state;
    tutti_store* store = NULL;
    tutti_group* group = NULL;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_ERROR(tutti_group_create("loopback", store, NULL, 0, 0, NULL, &group, &error), bad,
                 "tutti_group_create: world_size is 0");
    EXPECT_ERROR(tutti_group_create("loopback", store, NULL, 2, 2, NULL, &group, &error), bad,
                 "rank is 2");
    EXPECT_ERROR(tutti_group_create("loopback", store, NULL, -1, 2, NULL, &group, &error), bad,
                 "rank is -1");
    EXPECT_ERROR(tutti_group_create("loopback", store, NULL, 0, 1, NULL, NULL, &error), bad,
                 "out_group is NULL");
    EXPECT_ERROR(tutti_group_create("telegraph", store, NULL, 0, 1, NULL, &group, &error),
                 TUTTI_ERR_UNSUPPORTED, "telegraph");
    EXPECT_ERROR(tutti_init_process_group("telegraph", url, NULL, 0, 1, NULL, &error),
                 TUTTI_ERR_UNSUPPORTED, "telegraph");
    EXPECT_ERROR(tutti_init_process_group_with_store("loopback", store, NULL, 1, 1, NULL, &error),
                 bad, "rank is 1");
    options.timeout_ms = -2;
    EXPECT_ERROR(tutti_group_create("loopback", store, NULL, 0, 1, &options, &group, &error), bad,
                 "options.timeout_ms is -2");
    EXPECT_ERROR(tutti_init_process_group("loopback", url, NULL, 0, 1, &options, &error), bad,
                 "options.timeout_ms is -2");
    assert_null(group);
    assert_int_equal(tutti_is_initialized(), 0);
    tutti_store_release(store);
}

static void ranks_that_do_not_come_are_named(void** state) {
    (void)state;
    /* Rank 0 keeps the list of who has come; without it, only rank 0 is known to be missing. */
    const char* const missing[3] = {"ranks 1, 2, which have not joined",
                                    "rank 0, which has not joined", "rank 0, which has not joined"};
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = 50;
    for (int32_t rank = 0; rank < 3; ++rank) {
        tutti_store* store = NULL;
        tutti_group* group = NULL;
        EXPECT_OK(tutti_hash_store_create(&store, &error));
        EXPECT_ERROR(tutti_group_create("loopback", store, NULL, rank, 3, &options, &group, &error),
                     TUTTI_ERR_TIMEOUT, missing[rank]);
        assert_null(group);
        tutti_store_release(store);
    }
}

static void groups_are_independent(void** state) {
    (void)state;
    enum { GROUPS = 10 };
    tutti_group* groups[GROUPS];
    for (int i = 0; i < GROUPS; ++i) {
        tutti_store* store = NULL;
        EXPECT_OK(tutti_hash_store_create(&store, &error));
        EXPECT_OK(tutti_group_create("loopback", store, NULL, 0, 1, NULL, &groups[i], &error));
        tutti_store_release(store);
    }
    for (int i = 0; i < GROUPS; i += 2)
        EXPECT_OK(tutti_destroy_process_group(groups[i], NULL, &error));
    for (int i = 0; i < GROUPS; ++i) {
        const tutti_status wanted = i % 2 == 0 ? TUTTI_ERR_INVALID_HANDLE : TUTTI_OK;
        assert_int_equal(tutti_barrier(groups[i], NULL, NULL, &error), wanted);
        assert_int_equal(tutti_get_rank(groups[i]), 0);
        tutti_group_release(groups[i]);
        assert_int_equal(tutti_get_rank(groups[i]), -1);
    }
    assert_int_equal(tutti_is_initialized(), 0);
}

/* The status of a call in the child, as the exit status of the child. */
static int ask_child(int (*question)(void* argument), void* argument) {
    int ended = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(question(argument));
    assert_int_equal(waitpid(child, &ended, 0), child);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static int use_after_fork(void* store) {
    tutti_error_init(&error, sizeof error);
    tutti_store* other = NULL;
    if (tutti_store_set((tutti_store*)store, "key", "", 0, &error) != TUTTI_ERR_UNSUPPORTED) {
        return 1;
    }
    if (strstr(error.message, "fork") == NULL) return 2;
    if (tutti_hash_store_create(&other, &error) != TUTTI_ERR_UNSUPPORTED) return 3;
    if (tutti_get_rank(TUTTI_GROUP_WORLD) != -1 || tutti_is_initialized() != 0) return 4;
    if (tutti_get_backend(TUTTI_GROUP_WORLD) != NULL) return 5;
    if (tutti_version() == 0 || tutti_dtype_size(TUTTI_INT8) != 1) return 6;
    if (strcmp(tutti_status_name(TUTTI_OK), "TUTTI_OK") != 0) return 7;
    tutti_store_release((tutti_store*)store);
    return 0;
}

static void every_call_in_a_forked_child_says_so(void** state) {
    (void)state;
    tutti_store* store = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    EXPECT_OK(tutti_init_process_group_with_store("loopback", store, NULL, 0, 1, NULL, &error));
    assert_int_equal(ask_child(use_after_fork, store), 0);
    EXPECT_OK(tutti_store_set(store, "key", "", 0, &error)); /* nothing happened to the parent */
    EXPECT_OK(tutti_destroy_process_group(TUTTI_GROUP_WORLD, NULL, &error));
    tutti_store_release(store);
}

static int use_for_the_first_time(void* unused) {
    (void)unused;
    tutti_store* store = NULL;
    if (tutti_hash_store_create(&store, NULL) != TUTTI_OK) return 1;
    if (tutti_store_set(store, "key", "", 0, NULL) != TUTTI_OK) return 2;
    tutti_store_release(store);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_default_group_begins_ends_and_begins_again),
        TEST(the_default_group_meets_at_a_store),
        TEST(the_default_group_meets_by_the_environment),
        TEST(the_default_group_meets_at_an_address),
        TEST(wrong_members_and_backends_are_refused),
        TEST(ranks_that_do_not_come_are_named),
        TEST(groups_are_independent),
        TEST(every_call_in_a_forked_child_says_so),
    };
    /* Before the first use of tutti: a child may use it then. */
    const int child = ask_child(use_for_the_first_time, NULL);
    if (child != 0) {
        print_error("a child forked before the first use cannot use tutti: %d\n", child);
        return 1;
    }
    if (mkdtemp(directory) == NULL) return 1;
    (void)snprintf(url, sizeof url, "file://%s/meet", directory);
    const int failed = cmocka_run_group_tests(tests, clear_variables, NULL);
    (void)unlink(url + strlen("file://"));
    (void)rmdir(directory);
    return failed;
}
