/* The four kinds of store through the C functions: what each call does, what it refuses, and when
 * it gives up. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/contract.h"

/* One store of each kind, fresh for each test. */
enum { HASH, FILE_, TCP, PREFIX, KINDS };
static tutti_store* stores[KINDS];
static char directory[] = "/tmp/tutti_store_test_XXXXXX";
static char path[sizeof directory + 8];

#define FOR_EACH_STORE(store)                   \
    for (int kind_ = 0; kind_ < KINDS; ++kind_) \
        for (tutti_store* store = stores[kind_]; store; store = NULL)

static int open_stores(void** state) {
    (void)state;
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    tutti_store* whole;
    EXPECT_OK(tutti_hash_store_create(&stores[HASH], &error));
    EXPECT_OK(tutti_file_store_create(path, 1, &stores[FILE_], &error));
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &stores[TCP], &error));
    EXPECT_OK(tutti_hash_store_create(&whole, &error));
    EXPECT_OK(tutti_prefix_store_create("of/mine", whole, &stores[PREFIX], &error));
    tutti_store_release(whole); /* the prefix store keeps it */
    return 0;
}

static int close_stores(void** state) {
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) tutti_store_release(stores[kind]);
    return 0;
}

static void expect_stored(tutti_store* store, const char* key, const char* wanted) {
    tutti_bytes* value = NULL;
    EXPECT_OK(tutti_store_get(store, key, &value, &error));
    assert_int_equal(tutti_bytes_size(value), strlen(wanted));
    assert_string_equal((const char*)tutti_bytes_data(value), wanted);
    tutti_bytes_release(value);
}

static void what_is_set_is_read(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        EXPECT_OK(tutti_store_set(store, "key", "first", 5, &error));
        expect_stored(store, "key", "first");
        EXPECT_OK(tutti_store_set(store, "key", "second", 6, &error));
        expect_stored(store, "key", "second");
        EXPECT_OK(tutti_store_set(store, "empty", NULL, 0, &error));
        expect_stored(store, "empty", "");
        EXPECT_OK(tutti_store_set(store, "", "the empty key", 13, &error));
        expect_stored(store, "", "the empty key");
    }
}

static void values_are_any_bytes(void** state) {
    (void)state;
    enum { size = 100000 };
    static unsigned char bytes[size];
    for (size_t i = 0; i < size; ++i) bytes[i] = (unsigned char)(i * 7);
    FOR_EACH_STORE(store) {
        tutti_bytes* value = NULL;
        EXPECT_OK(tutti_store_set(store, "key", bytes, size, &error));
        EXPECT_OK(tutti_store_get(store, "key", &value, &error));
        assert_int_equal(tutti_bytes_size(value), size);
        assert_memory_equal(tutti_bytes_data(value), bytes, size);
        assert_int_equal(((const char*)tutti_bytes_data(value))[size], 0);
        tutti_bytes_release(value);
    }
}

static void counters_count(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        int64_t sum = 0;
        EXPECT_OK(tutti_store_add(store, "counter", 5, &sum, &error));
        assert_int_equal(sum, 5);
        EXPECT_OK(tutti_store_add(store, "counter", -7, &sum, &error));
        assert_int_equal(sum, -2);
        EXPECT_OK(tutti_store_add(store, "counter", 0, &sum, &error));
        assert_int_equal(sum, -2);
        expect_stored(store, "counter", "-2");
    }
}

static void what_is_appended_comes_last(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        EXPECT_OK(tutti_store_append(store, "list", "a", 1, &error));
        EXPECT_OK(tutti_store_append(store, "list", "bc", 2, &error));
        EXPECT_OK(tutti_store_append(store, "list", NULL, 0, &error));
        expect_stored(store, "list", "abc");
    }
}

static void check_wants_all_keys(void** state) {
    (void)state;
    const char* keys[] = {"here", "there"};
    FOR_EACH_STORE(store) {
        int32_t found = -1;
        EXPECT_OK(tutti_store_check(store, NULL, 0, &found, &error));
        assert_int_equal(found, 1);
        EXPECT_OK(tutti_store_set(store, "here", "", 0, &error));
        EXPECT_OK(tutti_store_check(store, keys, 2, &found, &error));
        assert_int_equal(found, 0);
        EXPECT_OK(tutti_store_set(store, "there", "", 0, &error));
        EXPECT_OK(tutti_store_check(store, keys, 2, &found, &error));
        assert_int_equal(found, 1);
    }
}

static void expect_compare_set(tutti_store* store, const char* expected, const char* desired,
                               const char* wanted) {
    tutti_bytes* value = NULL;
    EXPECT_OK(tutti_store_compare_set(store, "key", expected, strlen(expected), desired,
                                      strlen(desired), &value, &error));
    assert_string_equal((const char*)tutti_bytes_data(value), wanted);
    tutti_bytes_release(value);
}

static void compare_set_sets_what_is_as_expected(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        const char* key = "key";
        int32_t found = -1;
        expect_compare_set(store, "old", "new", "old");
        EXPECT_OK(tutti_store_check(store, &key, 1, &found, &error));
        assert_int_equal(found, 0);
        expect_compare_set(store, "", "new", "new");
        expect_compare_set(store, "old", "newer", "new");
        expect_compare_set(store, "new", "newer", "newer");
        expect_stored(store, "key", "newer");
    }
}

static void keys_are_deleted_and_counted(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        int64_t before = -1, after = -1;
        int32_t deleted = -1;
        EXPECT_OK(tutti_store_num_keys(store, &before, &error));
        EXPECT_OK(tutti_store_set(store, "key", "", 0, &error));
        EXPECT_OK(tutti_store_num_keys(store, &after, &error));
        assert_int_equal(after, before + 1);
        EXPECT_OK(tutti_store_delete_key(store, "key", &deleted, &error));
        assert_int_equal(deleted, 1);
        EXPECT_OK(tutti_store_delete_key(store, "key", &deleted, &error));
        assert_int_equal(deleted, 0);
        EXPECT_OK(tutti_store_num_keys(store, &after, &error));
        assert_int_equal(after, before);
    }
}

static void several_values_are_set_and_read_at_once(void** state) {
    (void)state;
    const char* keys[] = {"one", "two", "none"};
    const void* values[] = {"1", "22", NULL};
    const size_t sizes[] = {1, 2, 0};
    FOR_EACH_STORE(store) {
        tutti_bytes* got[3] = {NULL, NULL, NULL};
        EXPECT_OK(tutti_store_multi_set(store, keys, values, sizes, 3, &error));
        EXPECT_OK(tutti_store_multi_get(store, keys, 3, got, &error));
        assert_string_equal((const char*)tutti_bytes_data(got[0]), "1");
        assert_string_equal((const char*)tutti_bytes_data(got[1]), "22");
        assert_int_equal(tutti_bytes_size(got[2]), 0);
        for (int i = 0; i < 3; ++i) tutti_bytes_release(got[i]);
        EXPECT_OK(tutti_store_multi_set(store, NULL, NULL, NULL, 0, &error));
        EXPECT_OK(tutti_store_multi_get(store, NULL, 0, NULL, &error));
    }
}

static void waits_end_at_the_timeout_and_name_the_key(void** state) {
    (void)state;
    const char* keys[] = {"present", "absent"};
    FOR_EACH_STORE(store) {
        int64_t timeout_ms = 0;
        tutti_bytes* value = NULL;
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 300000);
        EXPECT_OK(tutti_store_set(store, "present", "", 0, &error));
        EXPECT_OK(tutti_store_wait(store, keys, 1, 1, &error));
        EXPECT_OK(tutti_store_wait(store, NULL, 0, 1, &error));
        EXPECT_ERROR(tutti_store_wait(store, keys, 2, 1, &error), TUTTI_ERR_TIMEOUT, "absent");
        EXPECT_OK(tutti_store_set_timeout(store, 1, &error));
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 1);
        EXPECT_ERROR(tutti_store_wait(store, keys, 2, 0, &error), TUTTI_ERR_TIMEOUT, "absent");
        EXPECT_OK(tutti_store_set_timeout(store, 200, &error));
        EXPECT_ERROR(tutti_store_get(store, "absent", &value, &error), TUTTI_ERR_TIMEOUT, "absent");
        tutti_bytes* got[2] = {NULL, NULL};
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 2, got, &error), TUTTI_ERR_TIMEOUT,
                     "absent");
        assert_null(got[0]);
        assert_null(value);
        EXPECT_OK(tutti_store_set_timeout(store, TUTTI_NO_TIMEOUT, &error));
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, TUTTI_NO_TIMEOUT);
    }
}

static void* set_late(void* store) {
    tutti_store_set((tutti_store*)store, "late", "value", 5, NULL);
    return NULL;
}

static void a_wait_ends_when_another_thread_sets_the_key(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        pthread_t thread;
        const char* key = "late";
        assert_int_equal(pthread_create(&thread, NULL, set_late, store), 0);
        EXPECT_OK(tutti_store_wait(store, &key, 1, TUTTI_NO_TIMEOUT, &error));
        expect_stored(store, "late", "value");
        pthread_join(thread, NULL);
    }
}

static void arguments_that_are_wrong_are_named(void** state) {
    (void)state;
    const char* keys[] = {"key", NULL};
    const void* values[] = {"value", NULL};
    const size_t sizes[] = {5, 1};
    const tutti_status bad = TUTTI_ERR_INVALID_ARGUMENT;
    FOR_EACH_STORE(store) {
        int32_t flag = 7;
        int64_t number = 7;
        tutti_bytes* value = NULL;
        tutti_bytes* got[2];
        EXPECT_ERROR(tutti_store_set(store, NULL, "", 0, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_set(store, "key", NULL, 3, &error), bad, "value is NULL");
        EXPECT_ERROR(tutti_store_get(store, NULL, &value, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_get(store, "key", NULL, &error), bad, "out_value is NULL");
        EXPECT_ERROR(tutti_store_add(store, NULL, 1, &number, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_add(store, "key", 1, NULL, &error), bad, "out_value is NULL");
        EXPECT_ERROR(tutti_store_append(store, "key", NULL, 1, &error), bad, "value is NULL");
        EXPECT_ERROR(tutti_store_check(store, keys, 2, &flag, &error), bad, "keys[1] is NULL");
        EXPECT_ERROR(tutti_store_check(store, NULL, 2, &flag, &error), bad, "keys is NULL");
        EXPECT_ERROR(tutti_store_check(store, keys, 1, NULL, &error), bad, "out_found is NULL");
        EXPECT_ERROR(tutti_store_wait(store, keys, 2, 1, &error), bad, "keys[1] is NULL");
        EXPECT_ERROR(tutti_store_wait(store, keys, 1, -2, &error), bad, "timeout_ms is -2");
        EXPECT_ERROR(tutti_store_compare_set(store, "key", NULL, 1, "", 0, &value, &error), bad,
                     "expected is NULL");
        EXPECT_ERROR(tutti_store_compare_set(store, "key", "", 0, NULL, 1, &value, &error), bad,
                     "desired is NULL");
        EXPECT_ERROR(tutti_store_compare_set(store, "key", "", 0, "", 0, NULL, &error), bad,
                     "out_value is NULL");
        EXPECT_ERROR(tutti_store_delete_key(store, "key", NULL, &error), bad, "out_deleted");
        EXPECT_ERROR(tutti_store_delete_key(store, NULL, &flag, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 2, got, &error), bad, "keys[1] is NULL");
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 1, NULL, &error), bad, "out_values");
        EXPECT_ERROR(tutti_store_multi_set(store, keys, values, sizes, 2, &error), bad, "keys[1]");
        keys[1] = "other";
        EXPECT_ERROR(tutti_store_multi_set(store, keys, values, sizes, 2, &error), bad,
                     "values[1] is NULL");
        EXPECT_ERROR(tutti_store_multi_set(store, keys, NULL, sizes, 2, &error), bad, "values is");
        EXPECT_ERROR(tutti_store_multi_set(store, keys, values, NULL, 2, &error), bad, "sizes is");
        keys[1] = NULL;
        EXPECT_ERROR(tutti_store_num_keys(store, NULL, &error), bad, "out_count is NULL");
        EXPECT_ERROR(tutti_store_set_timeout(store, 0, &error), bad, "timeout_ms is 0");
        EXPECT_ERROR(tutti_store_set_timeout(store, -2, &error), bad, "timeout_ms is -2");
        EXPECT_ERROR(tutti_store_get_timeout(store, NULL, &error), bad, "out_timeout_ms");
        assert_int_equal(flag, 7);
        assert_int_equal(number, 7);
        assert_null(value);
        EXPECT_OK(tutti_store_check(store, keys, 1, &flag, &error));
        assert_int_equal(flag, 0);
    }
}

static void a_key_that_is_too_long_is_refused(void** state) {
    (void)state;
    static char key[8192 + 2];
    memset(key, 'k', sizeof key - 1);
    FOR_EACH_STORE(store) {
        EXPECT_ERROR(tutti_store_set(store, key, "", 0, &error), TUTTI_ERR_INVALID_ARGUMENT,
                     "8192");
    }
}

static void text_is_not_counted_on(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        int64_t sum = 7;
        EXPECT_OK(tutti_store_set(store, "key", "seven", 5, &error));
        EXPECT_ERROR(tutti_store_add(store, "key", 1, &sum, &error), TUTTI_ERR_STORE, "key");
        assert_int_equal(sum, 7);
    }
}

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
    options.timeout_ms = 100;
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

int main(void) {
#define STORE_TEST(function) \
    { #function, function, open_stores, close_stores, NULL }
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_set_is_read),
        STORE_TEST(values_are_any_bytes),
        STORE_TEST(counters_count),
        STORE_TEST(what_is_appended_comes_last),
        STORE_TEST(check_wants_all_keys),
        STORE_TEST(compare_set_sets_what_is_as_expected),
        STORE_TEST(keys_are_deleted_and_counted),
        STORE_TEST(several_values_are_set_and_read_at_once),
        STORE_TEST(waits_end_at_the_timeout_and_name_the_key),
        STORE_TEST(a_wait_ends_when_another_thread_sets_the_key),
        STORE_TEST(arguments_that_are_wrong_are_named),
        STORE_TEST(a_key_that_is_too_long_is_refused),
        STORE_TEST(text_is_not_counted_on),
        STORE_TEST(stores_are_refused_what_they_cannot_be_made_from),
        STORE_TEST(only_a_tcp_store_has_a_port),
        STORE_TEST(clients_of_a_tcp_store_see_each_other),
        STORE_TEST(a_port_and_a_file_are_free_again_after_the_release),
        STORE_TEST(prefixes_keep_keys_apart),
        STORE_TEST(a_released_store_is_refused),
        STORE_TEST(released_bytes_are_refused),
        STORE_TEST(a_release_does_not_disturb_the_wait_of_another_thread),
    };
    if (mkdtemp(directory) == NULL) return 1;
    (void)snprintf(path, sizeof path, "%s/store", directory);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    (void)rmdir(directory);
    return failed;
}
