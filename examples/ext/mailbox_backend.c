/* The table, progress and the store; see mailbox.h. Collectives are done one after the other: each
 * rank sets a key with all that it brings, and takes from the others' what is for it. A rank that
 * has set its key of one collective has done those before, so keys of those can go. */
#include "mailbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The store ---- */

typedef struct value {
    char* data; /* NULL: none, or no memory */
    size_t size;
} value;

static void take(void* to, const void* data, size_t size) {
    value* const out = (value*)to;
    out->data = (char*)malloc(size + 1);
    out->size = size;
    if (out->data != NULL && size > 0) memcpy(out->data, data, size);
}

static tutti_slice slice(const char* key) {
    const tutti_slice name = {key, strlen(key)};
    return name;
}

/* Takes what is there, at once: 1, or 0 if there is nothing, or a failure in *status. */
static int fetch(mailbox* me, const char* key, value* out, tutti_status* status,
                 tutti_error* error) {
    const tutti_slice name = slice(key);
    int32_t is_there = 0;
    *status = me->store_table->check(me->store, &name, 1, &is_there, error);
    if (*status != TUTTI_OK || !is_there) return 0;
    memset(out, 0, sizeof *out);
    *status = me->store_table->get(me->store, &name, 0, take, out, error);
    if (*status == TUTTI_OK && out->data == NULL) *status = TUTTI_ERR_OUT_OF_MEMORY;
    return *status == TUTTI_OK;
}

static void drop(mailbox* me, const char* key) {
    const tutti_slice name = slice(key);
    int32_t deleted;
    me->store_table->delete_key(me->store, &name, &deleted, NULL);
}

/* ---- Progress ---- */

static void collective_key(char* key, size_t size, uint64_t sequence, int32_t rank) {
    (void)snprintf(key, size, "c/%llu/%d", (unsigned long long)sequence, (int)rank);
}

static tutti_status set_part(mailbox* me, entry* one, tutti_error* error) {
    char key[64];
    const size_t bytes = pack(me, one->call, NULL);
    char* const part = (char*)calloc(1, bytes);
    if (part == NULL) return TUTTI_ERR_OUT_OF_MEMORY;
    (void)pack(me, one->call, part);
    one->parts[me->rank] = part;
    one->is_set = 1;
    collective_key(key, sizeof key, one->call->sequence, me->rank);
    const tutti_slice name = slice(key), data = {part, bytes};
    return me->store_table->set(me->store, &name, &data, error);
}

/* The part of another rank: 1 if it is there now. */
static int get_part(mailbox* me, entry* one, int32_t rank, tutti_status* status,
                    tutti_error* error) {
    char key[64];
    value got;
    pthread_mutex_lock(&me->mutex);
    const int has_left = me->has_left[rank];
    pthread_mutex_unlock(&me->mutex);
    collective_key(key, sizeof key, one->call->sequence, rank);
    if (!fetch(me, key, &got, status, error)) {
        if (!has_left || *status != TUTTI_OK) return 0;
        error->rank = rank;
        (void)snprintf(error->message, sizeof error->message, "rank %d has left", (int)rank);
        *status = TUTTI_ERR_PEER_LOST;
        return 0;
    }
    one->parts[rank] = got.data;
    const char* const print = fingerprint_of(got.data);
    if (memcmp(print, one->call->fingerprint, one->call->fingerprint_size) != 0) {
        *status = me->host->mismatch(one->call, rank, print, error);
    }
    return 1;
}

/* One step of a collective: 1 if it has ended, which *status says how. */
static int step(mailbox* me, entry* one, int* moved, tutti_status* status, tutti_error* error) {
    char key[64];
    int missing = 0;
    if (!one->is_set) {
        *moved = 1;
        *status = set_part(me, one, error);
    }
    for (int32_t rank = 0; rank < me->size && *status == TUTTI_OK; ++rank) {
        if (one->parts[rank] != NULL) continue;
        if (get_part(me, one, rank, status, error)) {
            *moved = 1;
        } else {
            missing = 1;
        }
    }
    if (*status != TUTTI_OK) return 1;
    if (missing) return 0;
    collective_key(key, sizeof key, one->call->sequence - 1, me->rank);
    drop(me, key);
    *status = unpack(me, one->call, one->parts, error);
    return 1;
}

static long long* count_of(mailbox* me, int32_t peer, int32_t tag, int is_outgoing) {
    counter* one = me->counters;
    while (one != NULL && (one->peer != peer || one->tag != tag || one->is_outgoing != is_outgoing))
        one = one->next;
    if (one == NULL) {
        one = (counter*)calloc(1, sizeof *one);
        if (one == NULL) return NULL;
        one->next = me->counters;
        one->peer = peer;
        one->tag = tag;
        one->is_outgoing = is_outgoing;
        me->counters = one;
    }
    return &one->count;
}

static void message_key(char* key, size_t size, int32_t from, int32_t to, int32_t tag,
                        long long index) {
    (void)snprintf(key, size, "m/%d/%d/%d/%lld", (int)from, (int)to, (int)tag, index);
}

/* A message: its dtype and count, then its elements. */
static tutti_status send(mailbox* me, const tutti_backend_call* call, tutti_error* error) {
    char key[96];
    const size_t bytes = (size_t)call->inputs->count * call->element_size;
    const int64_t head[2] = {call->dtype, call->inputs->count};
    long long* const count = count_of(me, call->peer, call->tag, 1);
    char* const message = (char*)malloc(sizeof head + bytes);
    if (message == NULL || count == NULL) return free(message), TUTTI_ERR_OUT_OF_MEMORY;
    memcpy(message, head, sizeof head);
    if (bytes > 0) memcpy(message + sizeof head, call->inputs->data, bytes);
    message_key(key, sizeof key, me->rank, call->peer, call->tag, (*count)++);
    const tutti_slice name = slice(key), data = {message, sizeof head + bytes};
    const tutti_status status = me->store_table->set(me->store, &name, &data, error);
    free(message);
    return status;
}

static int is_cancelled(mailbox* me, const entry* one) {
    pthread_mutex_lock(&me->mutex);
    const int is_so = one->is_cancelled;
    pthread_mutex_unlock(&me->mutex);
    return is_so;
}

/* Unless it was cancelled; from here on it cannot be. */
static int may_take(mailbox* me, entry* one) {
    pthread_mutex_lock(&me->mutex);
    one->is_taken = !one->is_cancelled;
    pthread_mutex_unlock(&me->mutex);
    return one->is_taken;
}

/* 1 if a message has come from that rank, or asking for it failed. */
static int receive(mailbox* me, entry* one, int32_t from, tutti_status* status,
                   tutti_error* error) {
    const tutti_backend_call* const call = one->call;
    char key[96];
    value got;
    int64_t head[2];
    long long* const count = count_of(me, from, call->tag, 0);
    if (count == NULL) return *status = TUTTI_ERR_OUT_OF_MEMORY, 1;
    message_key(key, sizeof key, from, me->rank, call->tag, *count);
    if (!fetch(me, key, &got, status, error)) return *status != TUTTI_OK;
    if (!may_take(me, one)) {
        free(got.data);
        return *status = TUTTI_ERR_ABORTED, 1;
    }
    ++*count;
    drop(me, key);
    memcpy(head, got.data, sizeof head);
    const size_t bytes = (size_t)call->outputs->count * call->element_size;
    if (head[0] != call->dtype || head[1] != call->outputs->count) {
        error->rank = from;
        (void)snprintf(error->message, sizeof error->message,
                       "rank %d sends %lld elements of dtype %lld", (int)from, (long long)head[1],
                       (long long)head[0]);
        *status = TUTTI_ERR_MISMATCH;
    } else if (bytes > 0) {
        memcpy(call->outputs->data, got.data + sizeof head, bytes);
    }
    free(got.data);
    return 1;
}

static void finish_and_free(mailbox* me, entry** list, entry* one, tutti_status status,
                            int32_t source, const tutti_error* error) {
    pthread_mutex_lock(&me->mutex);
    while (*list != one) list = &(*list)->next;
    *list = one->next;
    pthread_mutex_unlock(&me->mutex);
    for (int32_t rank = 0; one->parts != NULL && rank < me->size; ++rank) free(one->parts[rank]);
    me->host->finish(one->call, status, source, error);
    free(one->parts);
    free(one);
}

static int move_message(mailbox* me, entry* one) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_status status = TUTTI_OK;
    int has_ended = 0;
    int32_t from = one->call->peer, last = from;
    if (one->call->kind == TUTTI_CALL_SEND || is_cancelled(me, one)) {
        status = may_take(me, one) ? send(me, one->call, &error) : TUTTI_ERR_ABORTED;
        finish_and_free(me, &me->messages, one, status, -1, &error);
        return 1;
    }
    if (from < 0) from = 0, last = me->size - 1;
    for (; from <= last && !has_ended; ++from) {
        has_ended = receive(me, one, from, &status, &error);
    }
    if (has_ended) finish_and_free(me, &me->messages, one, status, from - 1, &error);
    return has_ended;
}

/* Entries come at the end of a list, and only test() takes them out. */
static entry* next_of(mailbox* me, entry* const* place, int* is_aborted) {
    pthread_mutex_lock(&me->mutex);
    entry* const next = *place;
    *is_aborted = me->aborted != TUTTI_OK;
    pthread_mutex_unlock(&me->mutex);
    return next;
}

static int end_all(mailbox* me, entry** list) {
    int is_aborted, moved = 0;
    tutti_error error = TUTTI_ERROR_INIT;
    for (entry* one = next_of(me, list, &is_aborted); is_aborted && one != NULL;
         one = next_of(me, list, &is_aborted)) {
        memcpy(error.message, me->why, sizeof me->why);
        finish_and_free(me, list, one, me->aborted, -1, &error);
        moved = 1;
    }
    return moved;
}

static int32_t test(void* backend) {
    mailbox* const me = (mailbox*)backend;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_status status = TUTTI_OK;
    int moved = end_all(me, &me->collectives) + end_all(me, &me->messages), is_aborted;
    entry* const first = next_of(me, &me->collectives, &is_aborted);
    if (first != NULL && step(me, first, &moved, &status, &error)) {
        finish_and_free(me, &me->collectives, first, status, -1, &error);
        moved = 1;
    }
    entry* one = next_of(me, &me->messages, &is_aborted);
    while (one != NULL) {
        entry* const next = next_of(me, &one->next, &is_aborted);
        moved |= move_message(me, one);
        one = next;
    }
    return moved > 0;
}

/* ---- The table ---- */

static tutti_status describe(void* user, const char* settings, tutti_backend_capabilities* out,
                             tutti_error* error) {
    (void)user;
    if (*settings != '\0') {
        (void)snprintf(error->message, sizeof error->message, "mailbox has no settings");
        return TUTTI_ERR_INVALID_ARGUMENT;
    }
    out->completion = TUTTI_COMPLETION_POLLED;
    out->devices = TUTTI_BIT(TUTTI_CPU);
    out->kinds = TUTTI_ALL_BITS;
    out->dtypes = TUTTI_ALL_BITS;
    out->flags = TUTTI_BACKEND_USER_FUNCTIONS | TUTTI_BACKEND_REPRODUCIBLE;
    for (int dtype = 0; dtype < 32; ++dtype) out->ops[dtype] = TUTTI_ALL_BITS;
    return TUTTI_OK;
}

static tutti_status open_mailbox(void* user, const tutti_backend_place* place, void** out_backend,
                                 tutti_error* error) {
    (void)user;
    if (place->store == NULL) {
        (void)snprintf(error->message, sizeof error->message, "there is no store");
        return TUTTI_ERR_UNSUPPORTED;
    }
    mailbox* const me = (mailbox*)calloc(1, sizeof *me);
    char* const has_left = (char*)calloc((size_t)place->size, 1);
    if (me == NULL || has_left == NULL) return free(me), free(has_left), TUTTI_ERR_OUT_OF_MEMORY;
    me->host = place->host;
    me->store_table = place->store_table;
    me->store = place->store;
    me->rank = place->rank;
    me->size = place->size;
    me->has_left = has_left;
    pthread_mutex_init(&me->mutex, NULL);
    *out_backend = me;
    return TUTTI_OK;
}

static void close_mailbox(void* backend) {
    mailbox* const me = (mailbox*)backend;
    while (me->counters != NULL) {
        counter* const one = me->counters;
        me->counters = one->next;
        free(one);
    }
    pthread_mutex_destroy(&me->mutex);
    free(me->has_left);
    free(me);
}

static tutti_status post(void* backend, tutti_backend_call* call, tutti_error* error) {
    mailbox* const me = (mailbox*)backend;
    const int is_message = call->kind == TUTTI_CALL_SEND || call->kind == TUTTI_CALL_RECEIVE;
    entry* const one = (entry*)calloc(1, sizeof *one);
    if (one == NULL) return TUTTI_ERR_OUT_OF_MEMORY;
    one->call = call;
    if (!is_message) one->parts = (char**)calloc((size_t)me->size, sizeof *one->parts);
    if (!is_message && one->parts == NULL) return free(one), TUTTI_ERR_OUT_OF_MEMORY;
    pthread_mutex_lock(&me->mutex);
    const tutti_status status = me->aborted;
    entry** end = is_message ? &me->messages : &me->collectives;
    while (*end != NULL) end = &(*end)->next;
    if (status == TUTTI_OK) *end = one;
    memcpy(error->message, me->why, sizeof me->why);
    pthread_mutex_unlock(&me->mutex);
    if (status != TUTTI_OK) free(one->parts), free(one);
    return status;
}

static void abort_mailbox(void* backend, tutti_status status, const char* why) {
    mailbox* const me = (mailbox*)backend;
    pthread_mutex_lock(&me->mutex);
    me->aborted = status;
    (void)snprintf(me->why, sizeof me->why, "%s", why);
    pthread_mutex_unlock(&me->mutex);
}

static void left(void* backend, int32_t rank) {
    mailbox* const me = (mailbox*)backend;
    pthread_mutex_lock(&me->mutex);
    me->has_left[rank] = 1;
    pthread_mutex_unlock(&me->mutex);
}

static int32_t cancel(void* backend, const tutti_backend_call* call) {
    mailbox* const me = (mailbox*)backend;
    int32_t is_cancelled_now = 0;
    pthread_mutex_lock(&me->mutex);
    for (entry* one = me->messages; one != NULL; one = one->next) {
        if (one->call != call || one->is_taken) continue;
        one->is_cancelled = is_cancelled_now = 1; /* test() does the rest */
    }
    pthread_mutex_unlock(&me->mutex);
    return is_cancelled_now;
}

/* The new group has keys of its own in the store, so no rank needs another one. */
static tutti_status split(void* backend, const tutti_backend_place* place, int32_t color,
                          void** out_backend, tutti_error* error) {
    (void)backend;
    return color < 0 ? TUTTI_OK : open_mailbox(NULL, place, out_backend, error);
}

static const tutti_backend_table table = {sizeof(tutti_backend_table),
                                          TUTTI_EXT_VERSION,
                                          "mailbox",
                                          NULL,
                                          describe,
                                          open_mailbox,
                                          close_mailbox,
                                          post,
                                          test,
                                          abort_mailbox,
                                          left,
                                          NULL,
                                          cancel,
                                          NULL,
                                          NULL,
                                          split,
                                          NULL,
                                          NULL,
                                          NULL};
static const tutti_module module = {sizeof(tutti_module), TUTTI_EXT_VERSION, &table, NULL, NULL};

TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version);
TUTTI_API const tutti_module* tutti_module_get(uint32_t host_version) {
    (void)host_version;
    return &module;
}
