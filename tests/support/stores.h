/* One store of each kind, fresh for each test, and a folder for the file store. C99 and C++. */
#ifndef TUTTI_TESTS_STORES_H
#define TUTTI_TESTS_STORES_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "contract.h"

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
    EXPECT_OK(tutti_file_store_create(path, 1, NULL, &stores[FILE_], &error));
    EXPECT_OK(tutti_tcp_store_create("localhost", 0, 1, 1, &options, &stores[TCP], &error));
    EXPECT_OK(tutti_hash_store_create(&whole, &error));
    EXPECT_OK(tutti_prefix_store_create(whole, "of/mine", &stores[PREFIX], &error));
    tutti_store_release(whole); /* the prefix store keeps it */
    return 0;
}

static int close_stores(void** state) {
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) tutti_store_release(stores[kind]);
    return 0;
}

static tutti_store_call_options within_ms(int64_t timeout_ms) {
    tutti_store_call_options options = TUTTI_STORE_CALL_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    return options;
}

static void expect_stored(tutti_store* store, const char* key, const char* wanted) {
    tutti_bytes* value = NULL;
    EXPECT_OK(tutti_store_get(store, key, NULL, &value, &error));
    assert_int_equal(tutti_bytes_size(value), strlen(wanted));
    assert_string_equal((const char*)tutti_bytes_data(value), wanted);
    tutti_bytes_release(value);
}

#define STORE_TEST(function) \
    { #function, function, open_stores, close_stores, NULL }

#define RUN_STORE_TESTS(tests)                                        \
    do {                                                              \
        if (mkdtemp(directory) == NULL) return 1;                     \
        (void)snprintf(path, sizeof path, "%s/store", directory);     \
        const int failed = cmocka_run_group_tests(tests, NULL, NULL); \
        (void)unlink(path);                                           \
        (void)rmdir(directory);                                       \
        return failed;                                                \
    } while (0)

#endif
