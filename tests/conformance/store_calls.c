/* The rules of the calls on keys of a store; see stores.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores.h"

enum { ROUNDS = 20, LONG_VALUE = 1 << 20 };

/* ---- set, get ---- */

static void set_alone(store_visit* me) {
    const char* const key = store_key_of(me, "key", me->rank->rank);
    store_set_text(me, key, "one");
    store_expect_text(me, key, "one");
    store_set_text(me, key, "another");
    store_expect_text(me, key, "another");
}

static void set_others(store_visit* me) {
    for (int32_t writer = 0; writer < me->rank->size; ++writer) {
        const char* const key = store_key_of(me, "key", writer);
        if (me->rank->rank == writer) store_set_text(me, key, "from there");
        store_meet(me);
        store_expect_text(me, key, "from there");
    }
}

static void set_at_once(store_visit* me) {
    const char* const key = store_key(me, "key");
    char text[16];
    tutti_bytes* value = NULL;
    (void)snprintf(text, sizeof text, "rank %d", (int)me->rank->rank);
    for (int round = 0; round < ROUNDS; ++round) store_set_text(me, key, text);
    store_meet(me);
    STORE_OK(me, tutti_store_get(me->store, key, NULL, &value, &me->error));
    const char* const last = value == NULL ? "" : (const char*)tutti_bytes_data(value);
    const int32_t writer = value != NULL && tutti_bytes_size(value) == 6 ? last[5] - '0' : -1;
    STORE_HOLDS(me, writer >= 0 && writer < me->rank->size && strncmp(last, "rank ", 5) == 0);
    STORE_HOLDS(me, store_sum(me, writer) == (int64_t)writer * me->rank->size);
    tutti_bytes_release(value);
}

static void set_bytes(store_visit* me) {
    const char* const names[] = {"with blank", "gr\xc3\xbc\xc3\x9f", "a/b//c", "-", "%s\\\"'"};
    unsigned char every[256];
    char* const big = (char*)malloc(LONG_VALUE);
    for (int i = 0; i < 256; ++i) every[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char* const key = store_key_of(me, names[i], me->rank->rank);
        STORE_OK(me, tutti_store_set(me->store, key, every, sizeof every, &me->error));
        store_expect(me, key, every, sizeof every);
        STORE_OK(me, tutti_store_set(me->store, key, NULL, 0, &me->error));
        store_expect(me, key, NULL, 0);
    }
    if (big == NULL) abort();
    for (int i = 0; i < LONG_VALUE; ++i) big[i] = (char)(i * 7 + me->rank->rank);
    const char* const key = store_key_of(me, "big", me->rank->rank);
    STORE_OK(me, tutti_store_set(me->store, key, big, LONG_VALUE, &me->error));
    store_expect(me, key, big, LONG_VALUE);
    int32_t deleted = 0;
    STORE_OK(me, tutti_store_delete_key(me->store, key, &deleted, &me->error));
    free(big);
}

static void get_waiting(store_visit* me) {
    store_set_text(me, store_key_of(me, "mine", me->rank->rank), "first");
    store_expect_text(me, store_key_of(me, "mine", store_before(me)), "first");
    if (me->rank->rank == 0) store_set_text(me, store_key_of(me, "turn", 0), "on");
    store_expect_text(me, store_key_of(me, "turn", me->rank->rank), "on");
    store_set_text(me, store_key_of(me, "turn", me->rank->rank + 1), "on");
}

static void get_time_out(store_visit* me) {
    const tutti_store_call_options soon = store_within(20);
    tutti_bytes* value = NULL;
    STORE_STATUS(me, tutti_store_get(me->store, store_key(me, "never"), &soon, &value, &me->error),
                 TUTTI_ERR_TIMEOUT);
    STORE_HOLDS(me, value == NULL && strstr(me->error.message, "never") != NULL);
}

/* ---- add ---- */

static void add_alone(store_visit* me) {
    const char* const key = store_key_of(me, "count", me->rank->rank);
    const char* const text = store_key_of(me, "text", me->rank->rank);
    int64_t sum = 0;
    STORE_OK(me, tutti_store_add(me->store, key, 41, &sum, &me->error));
    STORE_OK(me, tutti_store_add(me->store, key, 1, &sum, &me->error));
    STORE_HOLDS(me, sum == 42);
    store_expect_text(me, key, "42");
    STORE_OK(me, tutti_store_add(me->store, key, -50, &sum, &me->error));
    STORE_OK(me, tutti_store_add(me->store, key, 0, &sum, &me->error));
    STORE_HOLDS(me, sum == -8);
    store_set_text(me, key, "100");
    STORE_OK(me, tutti_store_add(me->store, key, INT64_MAX - 100, &sum, &me->error));
    STORE_HOLDS(me, sum == INT64_MAX);
    store_set_text(me, text, "no number");
    /* For over TCP a refusal ends the connection, and what is on the way may be lost. */
    STORE_OK(me, tutti_store_flush(me->store, NULL, &me->error));
    STORE_STATUS(me, tutti_store_add(me->store, key, 1, &sum, &me->error), TUTTI_ERR_STORE);
    STORE_STATUS(me, tutti_store_add(me->store, text, 1, &sum, &me->error), TUTTI_ERR_STORE);
    store_expect_text(me, text, "no number");
}

static void add_at_once(store_visit* me) {
    const char* const key = store_key(me, "count");
    const int64_t all = (int64_t)ROUNDS * me->rank->size;
    int64_t sum = 0, mine = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        STORE_OK(me, tutti_store_add(me->store, key, 1, &sum, &me->error));
        mine += sum;
    }
    STORE_HOLDS(me, store_sum(me, mine) == all * (all + 1) / 2); /* no sum came twice */
}

/* ---- append ---- */

static void append_alone(store_visit* me) {
    const char* const key = store_key_of(me, "key", me->rank->rank);
    STORE_OK(me, tutti_store_append(me->store, key, "one", 3, &me->error));
    STORE_OK(me, tutti_store_append(me->store, key, NULL, 0, &me->error));
    STORE_OK(me, tutti_store_append(me->store, key, " two", 4, &me->error));
    store_expect_text(me, key, "one two");
}

static void append_at_once(store_visit* me) {
    const char* const key = store_key(me, "key");
    const char own = (char)('a' + me->rank->rank);
    tutti_bytes* value = NULL;
    size_t mine = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        STORE_OK(me, tutti_store_append(me->store, key, &own, 1, &me->error));
    }
    store_meet(me);
    STORE_OK(me, tutti_store_get(me->store, key, NULL, &value, &me->error));
    const size_t size = value == NULL ? 0 : tutti_bytes_size(value);
    for (size_t i = 0; i < size; ++i) {
        mine += ((const char*)tutti_bytes_data(value))[i] == own;
    }
    STORE_HOLDS(me, mine == ROUNDS && size == (size_t)(ROUNDS * me->rank->size));
    tutti_bytes_release(value);
}

/* ---- check, wait ---- */

static void check_alone(store_visit* me) {
    const char* const keys[] = {store_key_of(me, "a", me->rank->rank),
                                store_key_of(me, "b", me->rank->rank)};
    int32_t found = -1;
    STORE_OK(me, tutti_store_check(me->store, keys, 2, &found, &me->error));
    STORE_HOLDS(me, found == 0);
    store_set_text(me, keys[0], "");
    STORE_OK(me, tutti_store_check(me->store, keys, 2, &found, &me->error));
    STORE_HOLDS(me, found == 0);
    store_set_text(me, keys[1], "x");
    STORE_OK(me, tutti_store_check(me->store, keys, 2, &found, &me->error));
    STORE_HOLDS(me, found == 1);
    STORE_OK(me, tutti_store_check(me->store, NULL, 0, &found, &me->error));
    STORE_HOLDS(me, found == 1);
}

static void check_others(store_visit* me) {
    int32_t found = -1;
    store_set_text(me, store_key_of(me, "a", me->rank->rank), "x");
    store_meet(me);
    const char* const keys[] = {store_key_of(me, "a", store_before(me)), store_key_of(me, "a", 0)};
    STORE_OK(me, tutti_store_check(me->store, keys, 2, &found, &me->error));
    STORE_HOLDS(me, found == 1);
}

static void wait_waiting(store_visit* me) {
    const char* const keys[] = {store_key_of(me, "a", store_before(me)), store_key_of(me, "b", 0),
                                store_key_of(me, "a", me->rank->rank)};
    store_set_text(me, keys[2], "x");
    if (me->rank->rank == 0) store_set_text(me, keys[1], "");
    STORE_OK(me, tutti_store_wait(me->store, keys, 3, NULL, &me->error));
    STORE_OK(me, tutti_store_wait(me->store, NULL, 0, NULL, &me->error));
}

static void wait_time_out(store_visit* me) {
    const tutti_store_call_options soon = store_within(20);
    const char* const keys[] = {store_key_of(me, "there", me->rank->rank), store_key(me, "never")};
    store_set_text(me, keys[0], "x");
    STORE_STATUS(me, tutti_store_wait(me->store, keys, 2, &soon, &me->error), TUTTI_ERR_TIMEOUT);
    STORE_HOLDS(me, strstr(me->error.message, "never") != NULL);
}

/* ---- compare_set, delete_key ---- */

static void expect_exchange(store_visit* me, const char* key, const char* expected,
                            const char* desired, const char* afterwards) {
    tutti_bytes* value = NULL;
    STORE_OK(me, tutti_store_compare_set(me->store, key, expected, strlen(expected), desired,
                                         strlen(desired), &value, &me->error));
    store_expect_bytes(me, value, afterwards, strlen(afterwards));
}

static void compare_set_alone(store_visit* me) {
    const char* const key = store_key_of(me, "key", me->rank->rank);
    int32_t found = -1;
    expect_exchange(me, key, "old", "new", "old"); /* missing, and stays so */
    STORE_OK(me, tutti_store_check(me->store, &key, 1, &found, &me->error));
    STORE_HOLDS(me, found == 0);
    expect_exchange(me, key, "", "first", "first");
    expect_exchange(me, key, "", "second", "first");
    expect_exchange(me, key, "other", "second", "first");
    expect_exchange(me, key, "first", "second", "second");
    expect_exchange(me, key, "second", "", "");
    store_expect_text(me, key, "");
}

/* A counter of exchanges: each is tried until nobody was in between. */
static void compare_set_at_once(store_visit* me) {
    const char* const key = store_key(me, "count");
    char text[40] = "", next[40];
    long long count = 0;
    for (int round = 0; round < ROUNDS && me->how == PASSED;) {
        tutti_bytes* value = NULL;
        (void)snprintf(next, sizeof next, "%lld by %d", count + 1, (int)me->rank->rank);
        STORE_OK(me, tutti_store_compare_set(me->store, key, text, strlen(text), next, strlen(next),
                                             &value, &me->error));
        if (value == NULL) break;
        const size_t size = tutti_bytes_size(value);
        STORE_HOLDS(me, size > 0 && size < sizeof text);
        memcpy(text, tutti_bytes_data(value), size < sizeof text ? size : 0);
        text[size < sizeof text ? size : 0] = '\0';
        tutti_bytes_release(value);
        round += strcmp(text, next) == 0;
        count = strtoll(text, NULL, 10);
    }
    store_meet(me);
    expect_exchange(me, store_key(me, "other"), "x", "y", "x");
    tutti_bytes* last = NULL;
    STORE_OK(me, tutti_store_get(me->store, key, NULL, &last, &me->error));
    count = last == NULL ? 0 : strtoll((const char*)tutti_bytes_data(last), NULL, 10);
    STORE_HOLDS(me, count == (long long)ROUNDS * me->rank->size);
    tutti_bytes_release(last);
}

static void delete_key_alone(store_visit* me) {
    const char* const key = store_key_of(me, "key", me->rank->rank);
    int32_t deleted = -1, found = -1;
    store_set_text(me, key, "x");
    STORE_OK(me, tutti_store_delete_key(me->store, key, &deleted, &me->error));
    STORE_HOLDS(me, deleted == 1);
    STORE_OK(me, tutti_store_check(me->store, &key, 1, &found, &me->error));
    STORE_HOLDS(me, found == 0);
    STORE_OK(me, tutti_store_delete_key(me->store, key, &deleted, &me->error));
    STORE_HOLDS(me, deleted == 0);
    store_set_text(me, key, "again");
    store_expect_text(me, key, "again");
}

static void delete_key_at_once(store_visit* me) {
    const char* const key = store_key(me, "key");
    int32_t deleted = -1;
    store_set_text(me, key, "x");
    store_meet(me);
    STORE_OK(me, tutti_store_delete_key(me->store, key, &deleted, &me->error));
    STORE_HOLDS(me, store_sum(me, deleted) == 1);
}

/* ---- several keys ---- */

static void multi_alone(store_visit* me) {
    const char* const keys[] = {store_key_of(me, "a", me->rank->rank),
                                store_key_of(me, "b", me->rank->rank),
                                store_key_of(me, "c", me->rank->rank)};
    const void* const values[] = {"one", NULL, "three"};
    const size_t sizes[] = {3, 0, 5};
    const char* const turned[] = {keys[2], keys[0], keys[1], keys[2]};
    tutti_bytes* got[4] = {NULL, NULL, NULL, NULL};
    STORE_OK(me, tutti_store_multi_set(me->store, keys, values, sizes, 3, &me->error));
    STORE_OK(me, tutti_store_multi_get(me->store, turned, 4, NULL, got, &me->error));
    store_expect_bytes(me, got[0], "three", 5);
    store_expect_bytes(me, got[1], "one", 3);
    store_expect_bytes(me, got[2], NULL, 0);
    store_expect_bytes(me, got[3], "three", 5);
    STORE_OK(me, tutti_store_multi_set(me->store, NULL, NULL, NULL, 0, &me->error));
    STORE_OK(me, tutti_store_multi_get(me->store, NULL, 0, NULL, NULL, &me->error));
}

static void multi_waiting(store_visit* me) {
    const char* const mine = store_key_of(me, "a", me->rank->rank);
    const void* const value = "x";
    const size_t size = 1;
    const char* const keys[] = {store_key_of(me, "a", store_before(me)), store_key_of(me, "a", 0)};
    tutti_bytes* got[2] = {NULL, NULL};
    STORE_OK(me, tutti_store_multi_set(me->store, &mine, &value, &size, 1, &me->error));
    STORE_OK(me, tutti_store_multi_get(me->store, keys, 2, NULL, got, &me->error));
    store_expect_bytes(me, got[0], "x", 1);
    store_expect_bytes(me, got[1], "x", 1);
}

static void multi_get_time_out(store_visit* me) {
    const tutti_store_call_options soon = store_within(20);
    const char* const keys[] = {store_key_of(me, "there", me->rank->rank), store_key(me, "never")};
    tutti_bytes* got[2] = {NULL, NULL};
    store_set_text(me, keys[0], "x");
    STORE_STATUS(me, tutti_store_multi_get(me->store, keys, 2, &soon, got, &me->error),
                 TUTTI_ERR_TIMEOUT);
    STORE_HOLDS(me, got[0] == NULL && strstr(me->error.message, "never") != NULL);
}

const store_call store_calls[] = {
    {"set", 0, {set_alone, set_others, set_at_once, NULL, NULL, set_bytes}},
    {"get", 0, {NULL, NULL, NULL, get_waiting, get_time_out, NULL}},
    {"add", 0, {add_alone, NULL, add_at_once, NULL, NULL, NULL}},
    {"append", 0, {append_alone, NULL, append_at_once, NULL, NULL, NULL}},
    {"check", 0, {check_alone, check_others, NULL, NULL, NULL, NULL}},
    {"wait", 0, {NULL, NULL, NULL, wait_waiting, wait_time_out, NULL}},
    {"compare_set", 0, {compare_set_alone, NULL, compare_set_at_once, NULL, NULL, NULL}},
    {"delete_key", 0, {delete_key_alone, NULL, delete_key_at_once, NULL, NULL, NULL}},
    {"multi_set, _get", 0, {multi_alone, NULL, NULL, multi_waiting, multi_get_time_out, NULL}},
};
const int store_call_count = sizeof store_calls / sizeof store_calls[0];
