/* What the kinds of store have of their own: how they are made, how long they live, what is left of
 * them after the release. */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "support/stores.h"

static void stores_are_refused_what_they_cannot_be_made_from(void** state) {
    (void)state;
    tutti_store* store = NULL;
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    EXPECT_ERROR(tutti_hash_store_create(NULL, &error), bad, "out_store is NULL");
    EXPECT_ERROR(tutti_file_store_create(NULL, 1, &store, &error), bad, "path is NULL");
    EXPECT_ERROR(tutti_file_store_create("", 1, &store, &error), bad, "path is empty");
    EXPECT_ERROR(tutti_file_store_create(path, 0, &store, &error), bad, "world_size is 0");
    EXPECT_ERROR(tutti_file_store_create(path, 1, NULL, &error), bad, "out_store is NULL");
    EXPECT_ERROR(tutti_file_store_create("/there/is/no/such/folder", 1, &store, &error),
                 TUTTI_ERR_STORE, "/there/is/no/such/folder");
    EXPECT_ERROR(tutti_prefix_store_create(NULL, stores[HASH], &store, &error), bad, "prefix is");
    EXPECT_ERROR(tutti_prefix_store_create("a", stores[HASH], NULL, &error), bad, "out_store is");
    EXPECT_ERROR(tutti_tcp_store_create(NULL, 0, 1, 1, NULL, &store, &error), bad, "host is NULL");
    EXPECT_ERROR(tutti_tcp_store_create("", 0, 1, 1, NULL, &store, &error), bad, "host is empty");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", -1, 1, 1, NULL, &store, &error), bad,
                 "port is -1");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 65536, 1, 1, NULL, &store, &error), bad,
                 "port is 65536");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 0, NULL, &store, &error), bad,
                 "port is 0");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 0, 1, NULL, &store, &error), bad,
                 "world_size is 0");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 2, NULL, &store, &error), bad,
                 "is_master is 2");
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 1, 1, NULL, NULL, &error), bad,
                 "out_store is NULL");
    assert_null(store);
}

static void only_a_tcp_store_has_a_port(void** state) {
    (void)state;
    int32_t port = 0;
    EXPECT_OK(tutti_tcp_store_port(stores[TCP], &port, &error));
    assert_in_range(port, 1, 65535);
    EXPECT_ERROR(tutti_tcp_store_port(stores[TCP], NULL, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "out_port is NULL");
    EXPECT_ERROR(tutti_tcp_store_port(stores[HASH], &port, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "not a TCP store");
}

static void clients_of_a_tcp_store_see_each_other(void** state) {
    (void)state;
    int32_t port = 0;
    tutti_store *client = NULL, *nobody = NULL;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    options.timeout_ms = 3000; /* long enough to get as far as the waiting */
    EXPECT_OK(tutti_tcp_store_port(stores[TCP], &port, &error));
    EXPECT_OK(tutti_store_set(stores[TCP], "key", "value", 5, &error));
    EXPECT_OK(tutti_tcp_store_create("localhost", port, -1, 0, NULL, &client, &error));
    expect_stored(client, "key", "value");
    tutti_store_release(client);
    /* World size 1 has come already: a store for two, whose second client stays away. */
    EXPECT_ERROR(tutti_tcp_store_create("localhost", 0, 2, 1, &options, &nobody, &error),
                 TUTTI_ERR_TIMEOUT, "1 of 2");
    assert_null(nobody);
}

static void a_port_and_a_file_are_free_again_after_the_release(void** state) {
    (void)state;
    int32_t port = 0;
    EXPECT_OK(tutti_tcp_store_port(stores[TCP], &port, &error));
    for (int i = 0; i < 5; ++i) {
        int32_t found = 1;
        const char* key = "of the last one";
        tutti_store_release(stores[TCP]);
        EXPECT_OK(tutti_tcp_store_create("localhost", port, 1, 1, NULL, &stores[TCP], &error));
        tutti_store_release(stores[FILE_]);
        EXPECT_OK(tutti_file_store_create(path, 1, &stores[FILE_], &error));
        EXPECT_OK(tutti_store_check(stores[FILE_], &key, 1, &found, &error));
        assert_int_equal(found, 0);
        EXPECT_OK(tutti_store_set(stores[FILE_], key, "", 0, &error));
    }
}

static void prefixes_keep_keys_apart(void** state) {
    (void)state;
    tutti_store *a = NULL, *b = NULL, *inner = NULL;
    EXPECT_OK(tutti_prefix_store_create("a", stores[HASH], &a, &error));
    EXPECT_OK(tutti_prefix_store_create("b", stores[HASH], &b, &error));
    EXPECT_OK(tutti_prefix_store_create("c", b, &inner, &error));
    EXPECT_OK(tutti_store_set(a, "key", "of a", 4, &error));
    EXPECT_OK(tutti_store_set(b, "key", "of b", 4, &error));
    EXPECT_OK(tutti_store_set(inner, "key", "of b/c", 6, &error));
    expect_stored(a, "key", "of a");
    expect_stored(stores[HASH], "a/key", "of a");
    expect_stored(stores[HASH], "b/key", "of b");
    expect_stored(stores[HASH], "b/c/key", "of b/c");
    tutti_store_release(b); /* the inner one keeps it */
    expect_stored(inner, "key", "of b/c");
    tutti_store_release(inner);
    tutti_store_release(a);
}

static void a_released_store_is_refused(void** state) {
    (void)state;
    tutti_store *store = NULL, *next = NULL;
    EXPECT_OK(tutti_hash_store_create(&store, &error));
    tutti_store_release(store);
    EXPECT_ERROR(tutti_store_set(store, "key", "", 0, &error), TUTTI_ERR_INVALID_HANDLE,
                 "released");
    EXPECT_OK(tutti_hash_store_create(&next, &error));
    tutti_store_release(store); /* twice: must not touch what came after it */
    EXPECT_OK(tutti_store_set(next, "key", "", 0, &error));
    tutti_store_release(next);
}

static void released_bytes_are_refused(void** state) {
    (void)state;
    tutti_bytes* value = NULL;
    EXPECT_OK(tutti_store_set(stores[HASH], "key", "value", 5, &error));
    EXPECT_OK(tutti_store_get(stores[HASH], "key", &value, &error));
    tutti_bytes_release(value);
    assert_null(tutti_bytes_data(value));
    assert_int_equal(tutti_bytes_size(value), 0);
    tutti_bytes_release(value);
    tutti_bytes_release(NULL);
}

static void* wait_for_end(void* view) {
    const char* key = "end";
    return (void*)(intptr_t)tutti_store_wait((tutti_store*)view, &key, 1, TUTTI_NO_TIMEOUT, NULL);
}

/* Whether the other thread had begun to wait cannot be seen; so again until it had. */
static void a_release_does_not_disturb_the_wait_of_another_thread(void** state) {
    (void)state;
    for (int kind = HASH; kind <= TCP; ++kind) {
        void* ended = NULL;
        do {
            pthread_t thread;
            tutti_store* view = NULL;
            int32_t deleted = 0;
            EXPECT_OK(tutti_prefix_store_create("view", stores[kind], &view, &error));
            assert_int_equal(pthread_create(&thread, NULL, wait_for_end, view), 0);
            sched_yield();
            tutti_store_release(view);
            EXPECT_OK(tutti_store_set(stores[kind], "view/end", "", 0, &error));
            pthread_join(thread, &ended);
            EXPECT_OK(tutti_store_delete_key(stores[kind], "view/end", &deleted, &error));
            if ((intptr_t)ended != TUTTI_OK) {
                assert_int_equal((intptr_t)ended, TUTTI_ERR_INVALID_HANDLE);
            }
        } while ((intptr_t)ended != TUTTI_OK);
    }
}

/* A process of its own, which must not have used tutti before; it leaves by exit(). */
static int what_is_released_before_exit_ends(void) {
    int ended = -1;
    if (mkdtemp(directory) == NULL) return 0;
    (void)snprintf(path, sizeof path, "%s/store", directory);
    const pid_t child = fork();
    if (child == 0) {
        tutti_store* store = NULL;
        if (tutti_file_store_create(path, 1, &store, NULL) != TUTTI_OK) exit(1);
        if (tutti_store_set(store, "key", "value", 5, NULL) != TUTTI_OK) exit(2);
        if (access(path, F_OK) != 0) exit(3);
        tutti_store_release(store);
        exit(0);
    }
    const int exited = waitpid(child, &ended, 0) == child && ended == 0;
    const int removed = access(path, F_OK) != 0;
    if (!exited || !removed) print_error("exited well: %d, file removed: %d\n", exited, removed);
    (void)unlink(path);
    (void)rmdir(directory);
    memcpy(strrchr(directory, '_') + 1, "XXXXXX", 6);
    return exited && removed;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(stores_are_refused_what_they_cannot_be_made_from),
        STORE_TEST(only_a_tcp_store_has_a_port),
        STORE_TEST(clients_of_a_tcp_store_see_each_other),
        STORE_TEST(a_port_and_a_file_are_free_again_after_the_release),
        STORE_TEST(prefixes_keep_keys_apart),
        STORE_TEST(a_released_store_is_refused),
        STORE_TEST(released_bytes_are_refused),
        STORE_TEST(a_release_does_not_disturb_the_wait_of_another_thread),
    };
    if (!what_is_released_before_exit_ends()) return 1;
    RUN_STORE_TESTS(tests);
}
