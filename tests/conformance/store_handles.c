/* The rules of calls on a store as a whole, and on its handles; see stores.h. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "stores.h"

enum { ROUNDS = 20 };

/* ---- What keys there are: one rank, for the others would add some ---- */

static void num_keys_alone(store_visit* me) {
    const char* const key = store_key(me, "key");
    int64_t count = 0, now = 0;
    int32_t deleted = 0;
    if (me->rank->rank == 0) {
        STORE_OK(me, tutti_store_num_keys(me->store, &count, &me->error));
        if (me->how == REFUSED) return;
        store_set_text(me, key, "x");
        STORE_OK(me, tutti_store_num_keys(me->store, &now, &me->error));
        STORE_HOLDS(me, now == count + 1);
        STORE_OK(me, tutti_store_delete_key(me->store, key, &deleted, &me->error));
        STORE_OK(me, tutti_store_num_keys(me->store, &now, &me->error));
        STORE_HOLDS(me, now == count);
    }
}

static int64_t times_listed(store_visit* me, const char* key) {
    tutti_bytes* keys = NULL;
    int64_t count = 0, times = 0;
    STORE_OK(me, tutti_store_list_keys(me->store, &keys, &count, &me->error));
    if (keys == NULL) return -1;
    const char* one = (const char*)tutti_bytes_data(keys);
    for (int64_t i = 0; i < count; ++i, one += strlen(one) + 1) times += strcmp(one, key) == 0;
    tutti_bytes_release(keys);
    return times;
}

static void list_keys_others(store_visit* me) {
    const char* const key = store_key(me, "key");
    const char* const queue = store_key(me, "queue");
    const int64_t earlier = times_listed(me, key);
    store_meet(me);
    if (me->rank->rank == 0) {
        store_set_text(me, key, "x");
        store_set_text(me, key, "y");
        STORE_OK(me, tutti_store_queue_push(me->store, queue, "z", 1, &me->error));
    }
    store_meet(me);
    if (me->how == REFUSED) return;
    STORE_HOLDS(me, earlier == 0 && times_listed(me, key) == 1);
    STORE_HOLDS(me, times_listed(me, queue) == 0);
}

/* ---- Handles ---- */

static void clone_alone(store_visit* me) {
    const char* const key = store_key_of(me, "key", me->rank->rank);
    tutti_store_options options = TUTTI_STORE_OPTIONS_INIT;
    tutti_store* other = NULL;
    int64_t timeout_ms = 0, own_ms = 0;
    STORE_OK(me, tutti_store_get_timeout(me->store, &own_ms, &me->error));
    STORE_OK(me, tutti_store_clone(me->store, &options, &other, &me->error));
    STORE_OK(me, tutti_store_get_timeout(other, &timeout_ms, &me->error));
    STORE_HOLDS(me, timeout_ms == own_ms);
    store_set_text(me, key, "x");
    STORE_OK(me, tutti_store_flush(me->store, NULL, &me->error));
    tutti_store* const own = me->store;
    me->store = other;
    store_expect_text(me, key, "x");
    store_set_text(me, key, "y");
    STORE_OK(me, tutti_store_flush(other, NULL, &me->error));
    me->store = own;
    tutti_store_release(other);
    store_expect_text(me, key, "y");
}

static void timeout_alone(store_visit* me) {
    int64_t own_ms = 0, timeout_ms = 0;
    tutti_bytes* value = NULL;
    STORE_OK(me, tutti_store_get_timeout(me->store, &own_ms, &me->error));
    STORE_OK(me, tutti_store_set_timeout(me->store, 20, &me->error));
    STORE_OK(me, tutti_store_get_timeout(me->store, &timeout_ms, &me->error));
    STORE_HOLDS(me, timeout_ms == 20);
    STORE_STATUS(me, tutti_store_get(me->store, store_key(me, "never"), NULL, &value, &me->error),
                 TUTTI_ERR_TIMEOUT);
    STORE_OK(me, tutti_store_set_timeout(me->store, own_ms, &me->error));
}

static void extended_alone(store_visit* me) {
    int32_t has = -1;
    STORE_OK(me, tutti_store_has_extended_api(me->store, &has, &me->error));
    STORE_HOLDS(me, has == 1);
}

static void flush_others(store_visit* me) {
    const char* const key = store_key_of(me, "key", me->rank->rank);
    for (int round = 0; round < ROUNDS; ++round) store_set_text(me, key, "on the way");
    store_set_text(me, key, "last");
    store_meet(me); /* which flushes */
    store_expect_text(me, store_key_of(me, "key", store_before(me)), "last");
}

typedef struct waiter {
    store_visit* me;
    const char* key;
    tutti_status status;
    int has_ended;
} waiter;

static void* wait_for_ever(void* user) {
    waiter* const mine = (waiter*)user;
    mine->status = tutti_store_wait(mine->me->store, &mine->key, 1, NULL, NULL);
    __atomic_store_n(&mine->has_ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A wait that begins later is not ended, so it is interrupted until it ends. */
static void interrupt_waiting(store_visit* me) {
    waiter mine = {me, store_key_of(me, "never", me->rank->rank), TUTTI_OK, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, &mine) != 0) abort();
    while (!__atomic_load_n(&mine.has_ended, __ATOMIC_ACQUIRE)) {
        STORE_OK(me, tutti_store_interrupt(me->store, &me->error));
        (void)sched_yield();
    }
    (void)pthread_join(thread, NULL);
    STORE_HOLDS(me, mine.status == TUTTI_ERR_ABORTED);
    store_set_text(me, mine.key, "it goes on");
    store_expect_text(me, mine.key, "it goes on");
}

/* ---- barrier ---- */

static void barrier_at_once(store_visit* me) {
    store_set_text(me, store_key_of(me, "mine", me->rank->rank), "written");
    STORE_OK(
        me, tutti_store_barrier(me->store, store_key(me, "all"), me->rank->size, NULL, &me->error));
    for (int32_t rank = 0; rank < me->rank->size; ++rank) {
        const char* const key = store_key_of(me, "mine", rank);
        int32_t found = 0;
        STORE_OK(me, tutti_store_check(me->store, &key, 1, &found, &me->error));
        STORE_HOLDS(me, found == 1);
    }
}

static void barrier_time_out(store_visit* me) {
    const tutti_store_call_options soon = store_within(20);
    STORE_STATUS(
        me,
        tutti_store_barrier(me->store, store_key(me, "all"), me->rank->size + 1, &soon, &me->error),
        TUTTI_ERR_TIMEOUT);
}

const store_call store_handle_calls[] = {
    {"num_keys", 1, {num_keys_alone, NULL, NULL, NULL, NULL, NULL}},
    {"list_keys", 1, {NULL, list_keys_others, NULL, NULL, NULL, NULL}},
    {"barrier", 0, {NULL, NULL, barrier_at_once, NULL, barrier_time_out, NULL}},
    {"clone", 0, {clone_alone, NULL, NULL, NULL, NULL, NULL}},
    {"flush", 0, {NULL, flush_others, NULL, NULL, NULL, NULL}},
    {"interrupt", 0, {NULL, NULL, NULL, interrupt_waiting, NULL, NULL}},
    {"set, get_timeout", 0, {timeout_alone, NULL, NULL, NULL, NULL, NULL}},
    {"has_extended_api", 0, {extended_alone, NULL, NULL, NULL, NULL, NULL}},
};
const int store_handle_call_count = sizeof store_handle_calls / sizeof store_handle_calls[0];
