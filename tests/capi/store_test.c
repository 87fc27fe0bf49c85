/* The four kinds of store through the C functions: what each call does, what it refuses, and when
 * it gives up. */
#include <pthread.h>

#include "support/stores.h"

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
        EXPECT_OK(tutti_store_get(store, "key", NULL, &value, &error));
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
        EXPECT_OK(tutti_store_multi_get(store, keys, 3, NULL, got, &error));
        assert_string_equal((const char*)tutti_bytes_data(got[0]), "1");
        assert_string_equal((const char*)tutti_bytes_data(got[1]), "22");
        assert_int_equal(tutti_bytes_size(got[2]), 0);
        for (int i = 0; i < 3; ++i) tutti_bytes_release(got[i]);
        EXPECT_OK(tutti_store_multi_set(store, NULL, NULL, NULL, 0, &error));
        EXPECT_OK(tutti_store_multi_get(store, NULL, 0, NULL, NULL, &error));
    }
}

static void waits_end_at_the_timeout_and_name_the_key(void** state) {
    (void)state;
    const char* keys[] = {"present", "absent"};
    const tutti_store_call_options ample = within_ms(60000), brief = within_ms(1);
    FOR_EACH_STORE(store) {
        int64_t timeout_ms = 0;
        tutti_bytes* value = NULL;
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 300000);
        EXPECT_OK(tutti_store_set(store, "present", "", 0, &error));
        EXPECT_OK(tutti_store_wait(store, keys, 1, &ample, &error));
        EXPECT_OK(tutti_store_wait(store, NULL, 0, &ample, &error));
        EXPECT_ERROR(tutti_store_wait(store, keys, 2, &brief, &error), TUTTI_ERR_TIMEOUT, "absent");
        EXPECT_OK(tutti_store_set_timeout(store, 1, &error));
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 1);
        EXPECT_ERROR(tutti_store_wait(store, keys, 2, NULL, &error), TUTTI_ERR_TIMEOUT, "absent");
        EXPECT_OK(tutti_store_set_timeout(store, 200, &error));
        EXPECT_ERROR(tutti_store_get(store, "absent", NULL, &value, &error), TUTTI_ERR_TIMEOUT,
                     "absent");
        tutti_bytes* got[2] = {NULL, NULL};
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 2, NULL, got, &error), TUTTI_ERR_TIMEOUT,
                     "absent");
        assert_null(got[0]);
        assert_null(value);
        EXPECT_OK(tutti_store_set_timeout(store, TUTTI_NO_TIMEOUT, &error));
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, TUTTI_NO_TIMEOUT);
    }
}

static void expect_popped(tutti_store* store, const char* key, int32_t block, const char* wanted) {
    tutti_bytes* value = NULL;
    EXPECT_OK(tutti_store_queue_pop(store, key, block, NULL, &value, &error));
    assert_int_equal(tutti_bytes_size(value), strlen(wanted));
    assert_string_equal((const char*)tutti_bytes_data(value), wanted);
    tutti_bytes_release(value);
}

static void* push_late(void* store) {
    tutti_store_queue_push((tutti_store*)store, "late queue", "value", 5, NULL);
    return NULL;
}

static void queues_give_each_value_once(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        const char* key = "queue";
        int64_t length = -1;
        int32_t found = -1;
        tutti_bytes* value = NULL;
        pthread_t thread;
        EXPECT_OK(tutti_store_queue_len(store, key, &length, &error));
        assert_int_equal(length, 0);
        EXPECT_ERROR(tutti_store_queue_pop(store, key, 0, NULL, &value, &error),
                     TUTTI_ERR_QUEUE_EMPTY, "the queue is empty");
        assert_null(value);
        EXPECT_OK(tutti_store_queue_push(store, key, "first", 5, &error));
        EXPECT_OK(tutti_store_queue_push(store, key, NULL, 0, &error));
        EXPECT_OK(tutti_store_queue_len(store, key, &length, &error));
        assert_int_equal(length, 2);
        EXPECT_OK(tutti_store_check(store, &key, 1, &found, &error));
        assert_int_equal(found, 1);
        expect_popped(store, key, 0, "first");
        expect_popped(store, key, 1, "");
        assert_int_equal(pthread_create(&thread, NULL, push_late, store), 0);
        expect_popped(store, "late queue", 1, "value");
        pthread_join(thread, NULL);
        EXPECT_OK(tutti_store_set_timeout(store, 1, &error));
        EXPECT_ERROR(tutti_store_queue_pop(store, key, 1, NULL, &value, &error), TUTTI_ERR_TIMEOUT,
                     key);
    }
}

static void keys_are_listed(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        tutti_bytes* keys = NULL;
        int64_t count = -1;
        EXPECT_OK(tutti_store_list_keys(store, &keys, &count, &error));
        assert_int_equal(count, 0);
        assert_int_equal(tutti_bytes_size(keys), 0);
        tutti_bytes_release(keys);
        EXPECT_OK(tutti_store_set(store, "one", "", 0, &error));
        EXPECT_OK(tutti_store_set(store, "", "the empty key", 13, &error));
        EXPECT_OK(tutti_store_list_keys(store, &keys, &count, &error));
        assert_int_equal(count, 2);
        assert_int_equal(tutti_bytes_size(keys), 5);
        const char* text = (const char*)tutti_bytes_data(keys);
        const int empty_is_first = text[0] == '\0';
        assert_memory_equal(text, empty_is_first ? "\0one" : "one\0", 5);
        tutti_bytes_release(keys);
    }
}

static void* come_to_the_barrier(void* store) {
    const tutti_store_call_options forever = within_ms(TUTTI_NO_TIMEOUT);
    tutti_store_barrier((tutti_store*)store, "barrier", 2, &forever, NULL);
    return NULL;
}

static void barriers_wait_for_all(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        pthread_t thread;
        const tutti_store_call_options brief = within_ms(1);
        EXPECT_ERROR(tutti_store_barrier(store, "alone", 2, &brief, &error), TUTTI_ERR_TIMEOUT,
                     "alone");
        assert_int_equal(pthread_create(&thread, NULL, come_to_the_barrier, store), 0);
        EXPECT_OK(tutti_store_barrier(store, "barrier", 2, NULL, &error));
        pthread_join(thread, NULL);
    }
}

static void clones_are_handles_of_the_same_store(void** state) {
    (void)state;
    FOR_EACH_STORE(store) {
        tutti_store* clone = NULL;
        int64_t timeout_ms = 0;
        int32_t has = -1;
        EXPECT_OK(tutti_store_set_timeout(store, 60000, &error));
        EXPECT_OK(tutti_store_clone(store, NULL, &clone, &error));
        EXPECT_OK(tutti_store_set(store, "key", "value", 5, &error));
        expect_stored(store, "key", "value");
        expect_stored(clone, "key", "value");
        EXPECT_OK(tutti_store_set_timeout(clone, 1, &error));
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 60000);
        EXPECT_OK(tutti_store_has_extended_api(clone, &has, &error));
        assert_int_equal(has, 1);
        tutti_store_release(clone);
        expect_stored(store, "key", "value");
    }
}

/* Each of these would wait for 300 s by the handle's own timeout. */
static void the_timeout_of_one_call_is_an_option(void** state) {
    (void)state;
    const char* key = "absent";
    const tutti_store_call_options brief = within_ms(1);
    FOR_EACH_STORE(store) {
        int64_t timeout_ms = 0;
        tutti_bytes* value = NULL;
        EXPECT_ERROR(tutti_store_get(store, key, &brief, &value, &error), TUTTI_ERR_TIMEOUT, key);
        EXPECT_ERROR(tutti_store_multi_get(store, &key, 1, &brief, &value, &error),
                     TUTTI_ERR_TIMEOUT, key);
        EXPECT_ERROR(tutti_store_queue_pop(store, key, 1, &brief, &value, &error),
                     TUTTI_ERR_TIMEOUT, key);
        assert_null(value);
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 300000);
    }
}

static void clones_may_have_a_timeout_of_their_own(void** state) {
    (void)state;
    tutti_store_options options = TUTTI_STORE_OPTIONS_INIT;
    options.timeout_ms = 12345;
    FOR_EACH_STORE(store) {
        tutti_store* clone = NULL;
        int64_t timeout_ms = 0;
        EXPECT_OK(tutti_store_clone(store, &options, &clone, &error));
        EXPECT_OK(tutti_store_get_timeout(clone, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 12345);
        EXPECT_OK(tutti_store_get_timeout(store, &timeout_ms, &error));
        assert_int_equal(timeout_ms, 300000);
        tutti_store_release(clone);
    }
}

static void what_was_flushed_is_there_for_other_handles(void** state) {
    (void)state;
    const tutti_store_call_options ample = within_ms(60000);
    const char* keys[] = {"key", "queue"};
    FOR_EACH_STORE(store) {
        tutti_store* clone = NULL;
        int32_t found = -1;
        EXPECT_OK(tutti_store_clone(store, NULL, &clone, &error));
        EXPECT_OK(tutti_store_flush(store, NULL, &error)); /* nothing to do */
        EXPECT_OK(tutti_store_set(store, "key", "value", 5, &error));
        EXPECT_OK(tutti_store_queue_push(store, "queue", "value", 5, &error));
        EXPECT_OK(tutti_store_flush(store, &ample, &error));
        EXPECT_OK(tutti_store_check(clone, keys, 2, &found, &error));
        assert_int_equal(found, 1);
        tutti_store_release(clone);
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
        const tutti_store_call_options forever = within_ms(TUTTI_NO_TIMEOUT);
        assert_int_equal(pthread_create(&thread, NULL, set_late, store), 0);
        EXPECT_OK(tutti_store_wait(store, &key, 1, &forever, &error));
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
    const tutti_store_call_options wrong = within_ms(-2);
    tutti_store_options settings = TUTTI_STORE_OPTIONS_INIT;
    settings.reserved = 1;
    FOR_EACH_STORE(store) {
        int32_t flag = 7;
        int64_t number = 7;
        tutti_bytes* value = NULL;
        tutti_bytes* got[2];
        tutti_store* clone = NULL;
        EXPECT_ERROR(tutti_store_set(store, NULL, "", 0, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_set(store, "key", NULL, 3, &error), bad, "value is NULL");
        EXPECT_ERROR(tutti_store_get(store, NULL, NULL, &value, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_get(store, "key", NULL, NULL, &error), bad, "out_value is NULL");
        EXPECT_ERROR(tutti_store_add(store, NULL, 1, &number, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_add(store, "key", 1, NULL, &error), bad, "out_value is NULL");
        EXPECT_ERROR(tutti_store_append(store, "key", NULL, 1, &error), bad, "value is NULL");
        EXPECT_ERROR(tutti_store_check(store, keys, 2, &flag, &error), bad, "keys[1] is NULL");
        EXPECT_ERROR(tutti_store_check(store, NULL, 2, &flag, &error), bad, "keys is NULL");
        EXPECT_ERROR(tutti_store_check(store, keys, 1, NULL, &error), bad, "out_found is NULL");
        EXPECT_ERROR(tutti_store_wait(store, keys, 2, NULL, &error), bad, "keys[1] is NULL");
        EXPECT_ERROR(tutti_store_wait(store, keys, 1, &wrong, &error), bad,
                     "options.timeout_ms is -2");
        EXPECT_ERROR(tutti_store_compare_set(store, "key", NULL, 1, "", 0, &value, &error), bad,
                     "expected is NULL");
        EXPECT_ERROR(tutti_store_compare_set(store, "key", "", 0, NULL, 1, &value, &error), bad,
                     "desired is NULL");
        EXPECT_ERROR(tutti_store_compare_set(store, "key", "", 0, "", 0, NULL, &error), bad,
                     "out_value is NULL");
        EXPECT_ERROR(tutti_store_delete_key(store, "key", NULL, &error), bad, "out_deleted");
        EXPECT_ERROR(tutti_store_delete_key(store, NULL, &flag, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 2, NULL, got, &error), bad,
                     "keys[1] is NULL");
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 1, NULL, NULL, &error), bad, "out_values");
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
        EXPECT_ERROR(tutti_store_queue_push(store, NULL, "", 0, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_queue_push(store, "q", NULL, 1, &error), bad, "value is NULL");
        EXPECT_ERROR(tutti_store_queue_pop(store, NULL, 0, NULL, &value, &error), bad,
                     "key is NULL");
        EXPECT_ERROR(tutti_store_queue_pop(store, "q", 2, NULL, &value, &error), bad, "block is 2");
        EXPECT_ERROR(tutti_store_queue_pop(store, "q", 0, NULL, NULL, &error), bad,
                     "out_value is NULL");
        EXPECT_ERROR(tutti_store_queue_len(store, NULL, &number, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_queue_len(store, "q", NULL, &error), bad, "out_length is NULL");
        EXPECT_ERROR(tutti_store_list_keys(store, NULL, &number, &error), bad, "out_keys is NULL");
        EXPECT_ERROR(tutti_store_list_keys(store, &value, NULL, &error), bad, "out_count is NULL");
        EXPECT_ERROR(tutti_store_barrier(store, NULL, 1, NULL, &error), bad, "key is NULL");
        EXPECT_ERROR(tutti_store_barrier(store, "b", 0, NULL, &error), bad, "world_size is 0");
        EXPECT_ERROR(tutti_store_set(store, "a", "v", SIZE_MAX / 4, &error), bad,
                     "value has 4611686018427387903 bytes; no store takes more than");
        EXPECT_ERROR(tutti_store_barrier(store, "b", 1, &wrong, &error), bad,
                     "options.timeout_ms is -2");
        EXPECT_ERROR(tutti_store_clone(store, NULL, NULL, &error), bad, "out_store is NULL");
        EXPECT_ERROR(tutti_store_clone(store, &settings, &clone, &error), bad, "options.reserved");
        EXPECT_ERROR(tutti_store_get(store, "a", &wrong, &value, &error), bad, "options.timeout");
        EXPECT_ERROR(tutti_store_multi_get(store, keys, 1, &wrong, got, &error), bad, "options.t");
        EXPECT_ERROR(tutti_store_queue_pop(store, "q", 0, &wrong, &value, &error), bad,
                     "options.timeout_ms is -2");
        EXPECT_ERROR(tutti_store_flush(store, &wrong, &error), bad, "options.timeout_ms is -2");
        EXPECT_ERROR(tutti_store_check(store, keys, -1, &flag, &error), bad, "count is -1");
        EXPECT_ERROR(tutti_store_wait(store, keys, -1, NULL, &error), bad, "count is -1");
        EXPECT_ERROR(tutti_store_multi_get(store, keys, -2, NULL, got, &error), bad, "count is -2");
        EXPECT_ERROR(tutti_store_multi_set(store, keys, values, sizes, INT64_MIN, &error), bad,
                     "count is -9223372036854775808");
        EXPECT_ERROR(tutti_store_check(store, keys, INT64_MAX, &flag, &error), bad,
                     "keys cannot have so many elements");
        EXPECT_ERROR(tutti_store_has_extended_api(store, NULL, &error), bad, "out_has is NULL");
        assert_int_equal(flag, 7);
        assert_int_equal(number, 7);
        assert_null(value);
        assert_null(clone);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_is_set_is_read),
        STORE_TEST(values_are_any_bytes),
        STORE_TEST(counters_count),
        STORE_TEST(what_is_appended_comes_last),
        STORE_TEST(check_wants_all_keys),
        STORE_TEST(compare_set_sets_what_is_as_expected),
        STORE_TEST(keys_are_deleted_and_counted),
        STORE_TEST(several_values_are_set_and_read_at_once),
        STORE_TEST(queues_give_each_value_once),
        STORE_TEST(keys_are_listed),
        STORE_TEST(barriers_wait_for_all),
        STORE_TEST(clones_are_handles_of_the_same_store),
        STORE_TEST(the_timeout_of_one_call_is_an_option),
        STORE_TEST(clones_may_have_a_timeout_of_their_own),
        STORE_TEST(what_was_flushed_is_there_for_other_handles),
        STORE_TEST(waits_end_at_the_timeout_and_name_the_key),
        STORE_TEST(a_wait_ends_when_another_thread_sets_the_key),
        STORE_TEST(arguments_that_are_wrong_are_named),
        STORE_TEST(a_key_that_is_too_long_is_refused),
        STORE_TEST(text_is_not_counted_on),
    };
    RUN_STORE_TESTS(tests);
}
