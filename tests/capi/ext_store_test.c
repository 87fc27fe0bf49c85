/* Stores from outside (tutti/ext.h): one of a library, and one of functions that fail. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/ext.h>

#include "support/contract.h"

static char folder[] = "/tmp/tutti_ext_test_XXXXXX";

static void a_store_of_a_library_does_what_ours_do(void** state) {
    tutti_store_call_options soon = TUTTI_STORE_CALL_OPTIONS_INIT;
    tutti_store *store = NULL, *other = NULL;
    tutti_bytes* value = NULL;
    int64_t number = 0;
    const char* const missing = "missing";
    (void)state;
    soon.timeout_ms = 20;
    EXPECT_OK(tutti_store_open("folder", folder, NULL, &store, &error));
    EXPECT_OK(tutti_store_clone(store, NULL, &other, &error));
    EXPECT_OK(tutti_store_set(store, "a", "one", 3, &error));
    EXPECT_OK(tutti_store_append(other, "a", "two", 3, &error));
    EXPECT_OK(tutti_store_get(store, "a", NULL, &value, &error));
    assert_memory_equal(tutti_bytes_data(value), "onetwo", 6);
    tutti_bytes_release(value);
    EXPECT_OK(tutti_store_add(store, "count", 41, &number, &error));
    EXPECT_OK(tutti_store_add(other, "count", 1, &number, &error));
    assert_int_equal(number, 42);
    EXPECT_ERROR(tutti_store_add(other, "a", 1, &number, &error), TUTTI_ERR_STORE,
                 "add of key \"a\" at the store \"folder\": ");
    EXPECT_ERROR(tutti_store_wait(store, &missing, 1, &soon, &error), TUTTI_ERR_TIMEOUT,
                 "wait of key \"missing\" at the store \"folder\": timed out");
    EXPECT_OK(tutti_store_queue_push(store, "q", "x", 1, &error));
    EXPECT_OK(tutti_store_queue_pop(other, "q", 1, NULL, &value, &error));
    assert_memory_equal(tutti_bytes_data(value), "x", 1);
    tutti_bytes_release(value);
    EXPECT_OK(tutti_store_num_keys(store, &number, &error));
    assert_int_equal(number, 2);
    tutti_store_release(other);
    tutti_store_release(store);
}

static void a_store_that_cannot_be_opened_says_why(void** state) {
    tutti_store* store = NULL;
    (void)state;
    EXPECT_ERROR(tutti_store_open("folder", "/nowhere/at/all", NULL, &store, &error),
                 TUTTI_ERR_STORE, "opening store \"folder\": /nowhere/at/all: No such file");
    EXPECT_ERROR(tutti_store_open("mailbox", "", NULL, &store, &error), TUTTI_ERR_UNSUPPORTED,
                 "libtutti-mailbox.so: there is no store in it");
    EXPECT_ERROR(tutti_store_open("pigeon", NULL, NULL, &store, &error), TUTTI_ERR_UNSUPPORTED,
                 "store \"pigeon\" is in no library here (");
    EXPECT_ERROR(tutti_store_open("../x", NULL, NULL, &store, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "name is \"../x\"");
    EXPECT_ERROR(tutti_store_create_user(NULL, NULL, &store, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "the store table is NULL");
    assert_null(store);
}

/* A store whose functions fail, and of which it is counted how often it is closed. */
static int closed; /* counted up on a thread of the library */
static int closed_so_far(void) {
    return __atomic_load_n(&closed, __ATOMIC_SEQ_CST);
}

static tutti_status fails(void* store, const tutti_slice* key, const tutti_slice* value,
                          tutti_error* failure) {
    (void)store, (void)key, (void)value;
    failure->system_errno = 5;
    (void)snprintf(failure->message, sizeof failure->message, "the disk is full");
    return TUTTI_ERR_STORE;
}

static tutti_status never_there(void* store, const tutti_slice* key, int64_t timeout_ms,
                                tutti_give_function give, void* to, tutti_error* failure) {
    (void)store, (void)key, (void)timeout_ms, (void)give, (void)to, (void)failure;
    return closed_so_far() > 0 ? TUTTI_OK : TUTTI_ERR_TIMEOUT;
}

static tutti_status no_sum(void* store, const tutti_slice* key, int64_t amount, int64_t* out_sum,
                           tutti_error* failure) {
    (void)store, (void)key, (void)amount, (void)out_sum, (void)failure;
    return TUTTI_ERR_NETWORK;
}

static tutti_status no_wait(void* store, const tutti_slice* keys, size_t count, int64_t timeout_ms,
                            tutti_error* failure) {
    (void)store, (void)keys, (void)count, (void)timeout_ms, (void)failure;
    return TUTTI_OK;
}

static tutti_status none(void* store, const tutti_slice* keys, size_t count, int32_t* out_all,
                         tutti_error* failure) {
    (void)store, (void)keys, (void)count, (void)failure;
    *out_all = 0;
    return TUTTI_OK;
}

static tutti_status no_exchange(void* store, const tutti_slice* key, const tutti_slice* expected,
                                const tutti_slice* desired, int32_t* out_was_set,
                                tutti_give_function give, void* to, tutti_error* failure) {
    (void)store, (void)key, (void)expected, (void)desired, (void)out_was_set, (void)give, (void)to;
    (void)failure;
    return TUTTI_ERR_NETWORK;
}

static tutti_status none_deleted(void* store, const tutti_slice* key, int32_t* out_deleted,
                                 tutti_error* failure) {
    (void)store, (void)key, (void)failure;
    *out_deleted = 0;
    return TUTTI_OK;
}

static void close_store(void* store) {
    (void)store;
    __atomic_add_fetch(&closed, 1, __ATOMIC_SEQ_CST);
}

static void a_store_of_functions_fails_in_their_words_and_is_closed_once(void** state) {
    tutti_store_call_options soon = TUTTI_STORE_CALL_OPTIONS_INIT;
    tutti_store_table table;
    tutti_store *store = NULL, *other = NULL;
    tutti_bytes* value = NULL;
    int64_t number = 0;
    (void)state;
    memset(&table, 0, sizeof table);
    table.struct_size = sizeof table;
    table.version = TUTTI_EXT_VERSION;
    table.name = "broken";
    table.close = close_store;
    table.set = fails;
    table.get = never_there;
    table.add = no_sum;
    table.wait = no_wait;
    table.check = none;
    table.compare_set = no_exchange;
    EXPECT_ERROR(tutti_store_create_user(&table, NULL, &store, &error), TUTTI_ERR_INVALID_ARGUMENT,
                 "tutti_store_create_user: delete_key is NULL");
    assert_int_equal(closed_so_far(), 0);
    table.delete_key = none_deleted;
    EXPECT_OK(tutti_store_create_user(&table, NULL, &store, &error));
    EXPECT_OK(tutti_store_clone(store, NULL, &other, &error));
    EXPECT_ERROR(tutti_store_set(store, "k", "v", 1, &error), TUTTI_ERR_STORE,
                 "set of key \"k\" at the store \"broken\": the disk is full");
    assert_int_equal(error.system_errno, 5);
    EXPECT_ERROR(tutti_store_add(store, "k", 1, &number, &error), TUTTI_ERR_NETWORK,
                 "it failed with status 9 and no reason");
    soon.timeout_ms = 20;
    EXPECT_ERROR(tutti_store_get(store, "k", &soon, &value, &error), TUTTI_ERR_TIMEOUT,
                 "get of key \"k\" at the store \"broken\": timed out");
    EXPECT_ERROR(tutti_store_num_keys(store, &number, &error), TUTTI_ERR_UNSUPPORTED,
                 "store \"broken\" cannot tell its keys");
    tutti_store_release(store);
    EXPECT_ERROR(tutti_store_add(other, "k", 1, &number, &error), TUTTI_ERR_NETWORK, "broken");
    assert_int_equal(closed_so_far(), 0);
    tutti_store_release(other);
    for (int turn = 0; turn < 300 && closed_so_far() == 0; ++turn) (void)poll(NULL, 0, 10);
    assert_int_equal(closed_so_far(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_store_of_a_library_does_what_ours_do),
        TEST(a_store_that_cannot_be_opened_says_why),
        TEST(a_store_of_functions_fails_in_their_words_and_is_closed_once),
    };
    if (mkdtemp(folder) == NULL) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[sizeof folder + 16];
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? failed : 1;
}
