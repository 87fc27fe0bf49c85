/* The rules of the calls on queues of a store; see stores.h. */
#include <string.h>

#include "stores.h"

enum { ROUNDS = 20 };

static void push(store_visit* me, const char* queue, const void* value, size_t size) {
    STORE_OK(me, tutti_store_queue_push(me->store, queue, value, size, &me->error));
}

static void expect_popped(store_visit* me, const char* queue, const void* value, size_t size) {
    tutti_bytes* first = NULL;
    STORE_OK(me, tutti_store_queue_pop(me->store, queue, 1, NULL, &first, &me->error));
    store_expect_bytes(me, first, value, size);
}

static void expect_length(store_visit* me, const char* queue, int64_t wanted) {
    int64_t length = -1;
    STORE_OK(me, tutti_store_queue_len(me->store, queue, &length, &me->error));
    STORE_HOLDS(me, length == wanted);
}

static void push_alone(store_visit* me) {
    const char* const queue = store_key_of(me, "queue", me->rank->rank);
    expect_length(me, queue, 0);
    push(me, queue, "one", 3);
    push(me, queue, NULL, 0);
    push(me, queue, "three", 5);
    expect_length(me, queue, 3);
    expect_popped(me, queue, "one", 3);
    expect_popped(me, queue, NULL, 0);
    expect_length(me, queue, 1);
    expect_popped(me, queue, "three", 5);
    expect_length(me, queue, 0);
}

static void push_others(store_visit* me) {
    const char* const queue = store_key(me, "queue");
    int32_t found = -1, deleted = -1;
    if (me->rank->rank == 0) push(me, queue, "x", 1);
    store_meet(me);
    STORE_OK(me, tutti_store_check(me->store, &queue, 1, &found, &me->error));
    STORE_HOLDS(me, found == 1);
    STORE_OK(me, tutti_store_wait(me->store, &queue, 1, NULL, &me->error));
    expect_length(me, queue, 1);
    store_meet(me);
    if (me->rank->rank == 0) {
        STORE_OK(me, tutti_store_delete_key(me->store, queue, &deleted, &me->error));
        STORE_HOLDS(me, deleted == 1);
    }
    store_meet(me);
    expect_length(me, queue, 0);
}

/* Each value goes to one rank. */
static void pop_at_once(store_visit* me) {
    const char* const queue = store_key(me, "queue");
    int64_t given = 0, taken = 0;
    for (int32_t round = 0; round < ROUNDS; ++round) {
        const int32_t drawn = round * me->rank->size + me->rank->rank + 1;
        push(me, queue, &drawn, sizeof drawn);
        given += drawn;
    }
    for (int round = 0; round < ROUNDS && me->how == PASSED; ++round) {
        tutti_bytes* value = NULL;
        int32_t drawn = 0;
        STORE_OK(me, tutti_store_queue_pop(me->store, queue, 1, NULL, &value, &me->error));
        if (value == NULL || tutti_bytes_size(value) != sizeof drawn) continue;
        memcpy(&drawn, tutti_bytes_data(value), sizeof drawn);
        tutti_bytes_release(value);
        taken += drawn;
    }
    const int64_t all = store_sum(me, given);
    STORE_HOLDS(me, store_sum(me, taken) == all);
    expect_length(me, queue, 0);
}

static void pop_waiting(store_visit* me) {
    const int32_t rank = me->rank->rank;
    if (rank == 0) push(me, store_key_of(me, "queue", 0), "on", 2);
    expect_popped(me, store_key_of(me, "queue", rank), "on", 2);
    push(me, store_key_of(me, "queue", rank + 1), "on", 2);
}

static void pop_time_out(store_visit* me) {
    const tutti_store_call_options soon = store_within(20);
    const char* const queue = store_key(me, "never");
    tutti_bytes* value = NULL;
    STORE_STATUS(me, tutti_store_queue_pop(me->store, queue, 1, &soon, &value, &me->error),
                 TUTTI_ERR_TIMEOUT);
    STORE_STATUS(me, tutti_store_queue_pop(me->store, queue, 0, NULL, &value, &me->error),
                 TUTTI_ERR_QUEUE_EMPTY);
    STORE_HOLDS(me, value == NULL);
}

static void push_bytes(store_visit* me) {
    const char* const queue = store_key_of(me, "queue", me->rank->rank);
    unsigned char every[256];
    for (int i = 0; i < 256; ++i) every[i] = (unsigned char)(255 - i);
    push(me, queue, every, sizeof every);
    push(me, queue, every, 1);
    expect_popped(me, queue, every, sizeof every);
    expect_popped(me, queue, every, 1);
}

const store_call store_queue_calls[] = {
    {"queue_push, _len", 0, {push_alone, push_others, NULL, NULL, NULL, push_bytes}},
    {"queue_pop", 0, {NULL, NULL, pop_at_once, pop_waiting, pop_time_out, NULL}},
};
const int store_queue_call_count = sizeof store_queue_calls / sizeof store_queue_calls[0];
