/* Opens a store on every rank, has all ranks do each cell, and prints what came of it; see
 * stores.h. */
#include "stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "processes.h"

static const char* const questions[QUESTIONS] = {"alone",   "others",   "at once",
                                                 "waiting", "time-out", "bytes"};
static const int64_t max_wait_ms = 20000;

/* The state that all ranks of the program share: with processes, those that it runs. */
typedef struct store_trial {
    const char* where;
    tutti_store* first; /* that of rank 0, for ranks that are threads */
    int wrong, refused;
} store_trial;

void store_failed(store_visit* me, const char* what, tutti_status status) {
    const char* const said = status == TUTTI_OK ? "" : me->error.message;
    if (status == TUTTI_ERR_UNSUPPORTED && me->how == PASSED) me->how = REFUSED;
    if (status == TUTTI_ERR_UNSUPPORTED || me->how == FAILED) return;
    me->how = FAILED;
    (void)snprintf(me->why, sizeof me->why, "%s: %s %s", what, tutti_status_name(status), said);
}

void store_meet(store_visit* me) {
    STORE_OK(me, tutti_store_flush(me->store, NULL, &me->error));
    STORE_OK(me, tutti_barrier(me->rank->group, NULL, NULL, &me->error));
}

static const char* next_key(store_visit* me, const char* name, const char* of) {
    static __thread char keys[8][160];
    static __thread unsigned turn;
    char* const key = keys[turn++ % 8];
    (void)snprintf(key, sizeof keys[0], "%s/%s%s", me->prefix, name, of);
    return key;
}

const char* store_key(store_visit* me, const char* name) {
    return next_key(me, name, "");
}

const char* store_key_of(store_visit* me, const char* name, int32_t rank) {
    char of[16];
    (void)snprintf(of, sizeof of, "-%d", (int)rank);
    return next_key(me, name, of);
}

void store_set_text(store_visit* me, const char* key, const char* text) {
    STORE_OK(me, tutti_store_set(me->store, key, text, strlen(text), &me->error));
}

void store_expect_bytes(store_visit* me, tutti_bytes* bytes, const void* value, size_t size) {
    STORE_HOLDS(me, bytes != NULL && tutti_bytes_size(bytes) == size);
    if (bytes != NULL && tutti_bytes_size(bytes) == size && size > 0) {
        STORE_HOLDS(me, memcmp(tutti_bytes_data(bytes), value, size) == 0);
    }
    tutti_bytes_release(bytes);
}

void store_expect(store_visit* me, const char* key, const void* value, size_t size) {
    tutti_bytes* bytes = NULL;
    STORE_OK(me, tutti_store_get(me->store, key, NULL, &bytes, &me->error));
    store_expect_bytes(me, bytes, value, size);
}

void store_expect_text(store_visit* me, const char* key, const char* text) {
    store_expect(me, key, text, strlen(text));
}

int64_t store_sum(store_visit* me, int64_t value) {
    return rank_sum(me->rank, me->rank->group, value);
}

int32_t store_before(const store_visit* me) {
    return (me->rank->rank + me->rank->size - 1) % me->rank->size;
}

tutti_store_call_options store_within(int64_t timeout_ms) {
    tutti_store_call_options options = TUTTI_STORE_CALL_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    return options;
}

/* ---- Opening ---- */

/* The text behind "NAME:" or "NAME://"; NULL: it is another name. */
static const char* behind(const char* where, const char* name) {
    const size_t length = strlen(name);
    if (strncmp(where, name, length) != 0 || where[length] != ':') return NULL;
    where += length + 1;
    return strncmp(where, "//", 2) == 0 ? where + 2 : where;
}

static tutti_status open_tcp(const char* address, int is_master, int32_t port, tutti_store** out,
                             tutti_error* error) {
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    char host[256];
    const char* const colon = strrchr(address, ':');
    options.no_wait_for_workers = 1;
    options.timeout_ms = max_wait_ms;
    if (colon == NULL || (size_t)(colon - address) >= sizeof host) {
        (void)snprintf(error->message, sizeof error->message, "\"%s\" is not HOST:PORT", address);
        return TUTTI_ERR_INVALID_ARGUMENT;
    }
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    if (port == 0) port = (int32_t)strtol(colon + 1, NULL, 10);
    return tutti_tcp_store_create(host, port, -1, is_master, &options, out, error);
}

/* `port`: of a TCP store that serves already; 0: none does. */
static tutti_status open_one(const char* where, int is_first, int32_t port, tutti_store** out,
                             tutti_error* error) {
    tutti_store_options options = TUTTI_STORE_OPTIONS_INIT;
    const char* address = behind(where, "prefix");
    options.timeout_ms = max_wait_ms;
    if (address != NULL) {
        tutti_store* whole = NULL;
        tutti_status status = open_one(address, is_first, port, &whole, error);
        if (status != TUTTI_OK) return status;
        status = tutti_prefix_store_create(whole, "of/mine", out, error);
        tutti_store_release(whole);
        return status == TUTTI_OK ? tutti_store_set_timeout(*out, max_wait_ms, error) : status;
    }
    if (strcmp(where, "hash") == 0) {
        if (is_first) return tutti_hash_store_create(out, error);
        (void)snprintf(error->message, sizeof error->message,
                       "a hash store joins threads of one process, not processes");
        return TUTTI_ERR_INVALID_ARGUMENT;
    }
    address = behind(where, "file");
    if (address != NULL) return tutti_file_store_create(address, -1, &options, out, error);
    address = behind(where, "tcp");
    if (address != NULL) return open_tcp(address, is_first, port, out, error);
    char name[64];
    const size_t length = strcspn(where, ":");
    if (length >= sizeof name) return TUTTI_ERR_INVALID_ARGUMENT;
    memcpy(name, where, length);
    name[length] = '\0';
    address = behind(where, name);
    return tutti_store_open(name, address, &options, out, error);
}

/* Rank 0 opens first; the others are told the port, if it serves at one. */
static tutti_store* open_on_rank(store_trial* of, rank_context* me) {
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_store* store = NULL;
    tutti_status status = TUTTI_OK;
    int32_t port = 0;
    if (me->rank == 0) {
        status = open_one(of->where, 1, 0, &store, &error);
        if (status == TUTTI_OK && strstr(of->where, "tcp:") != NULL) {
            tutti_store *served = NULL, *const shown = store;
            if (tutti_prefix_store_underlying_store(shown, &served, NULL) != TUTTI_OK) {
                served = NULL;
            }
            status = tutti_tcp_store_port(served != NULL ? served : shown, &port, &error);
            tutti_store_release(served);
        }
        of->first = store;
    }
    port = (int32_t)rank_sum(me, me->group, me->rank == 0 ? port : 0);
    if (me->rank > 0) {
        const int is_in_memory = of->first != NULL && strstr(of->where, "hash") != NULL;
        status = is_in_memory ? tutti_store_clone(of->first, NULL, &store, &error)
                              : open_one(of->where, 0, port, &store, &error);
    }
    const int64_t missing = rank_sum(me, me->group, status != TUTTI_OK);
    if (status != TUTTI_OK) fprintf(stderr, "%s: %s\n", of->where, error.message);
    if (missing == 0 && !me->failed) return store;
    me->failed = 1;
    tutti_store_release(store);
    return NULL;
}

/* ---- Trying ---- */

static const char* text_of(verdict how) {
    return how == PASSED ? "passed" : how == REFUSED ? "refused" : "FAILED";
}

/* Rank 0 prints; all come to the same verdict. */
static verdict try_cell(store_trial* of, store_visit* me, const store_call* what,
                        store_question question) {
    me->how = PASSED;
    me->why[0] = '\0';
    tutti_error_init(&me->error, sizeof me->error);
    store_meet(me);
    what->cells[question](me);
    if (me->how == REFUSED && !what->may_be_missing) {
        me->how = FAILED;
        (void)snprintf(me->why, sizeof me->why, "it must not refuse this: %s", me->error.message);
    }
    if (me->how == FAILED) {
        fprintf(stderr, "rank %d: %s, %s: %s\n", (int)me->rank->rank, what->name,
                questions[question], me->why);
    }
    const int64_t failed = store_sum(me, me->how == FAILED);
    const int64_t refused = store_sum(me, me->how == REFUSED);
    if (me->rank->rank == 0) {
        of->wrong += failed > 0;
        of->refused += failed == 0 && refused > 0;
    }
    return failed > 0 ? FAILED : refused > 0 ? REFUSED : PASSED;
}

static void try_call(store_trial* of, store_visit* me, const store_call* what, int64_t run) {
    const int is_first = me->rank->rank == 0;
    if (is_first) printf("%-18s", what->name);
    for (int question = 0; question < QUESTIONS; ++question) {
        const char* shown = "";
        (void)snprintf(me->prefix, sizeof me->prefix, "%llx/%s/%d", (unsigned long long)run,
                       what->name, question);
        if (what->cells[question] != NULL && !me->rank->failed) {
            shown = text_of(try_cell(of, me, what, (store_question)question));
        }
        if (is_first) printf(" %-9s", shown);
    }
    if (is_first) printf("\n");
}

static void try_calls(rank_context* rank) {
    store_trial* const of = (store_trial*)rank->user;
    store_visit me;
    memset(&me, 0, sizeof me);
    me.rank = rank;
    me.store = open_on_rank(of, rank);
    if (me.store == NULL) return;
    /* No two runs have the same keys, for there are stores that stay. */
    const int64_t own = ((int64_t)time(NULL) << 22) ^ getpid();
    const int64_t run = rank_sum(rank, rank->group, rank->rank == 0 ? own : 0);
    for (int i = 0; i < store_call_count; ++i) try_call(of, &me, &store_calls[i], run);
    for (int i = 0; i < store_queue_call_count; ++i) try_call(of, &me, &store_queue_calls[i], run);
    for (int i = 0; i < store_handle_call_count; ++i) {
        try_call(of, &me, &store_handle_calls[i], run);
    }
    store_meet(&me); /* rank 0 may serve the store */
    tutti_store_release(me.store);
}

int try_store(const char* where, int32_t ranks, int is_of_processes) {
    store_trial trial = {where, NULL, 0, 0};
    printf("store %s, %d ranks that are %s\n%-18s", where, (int)ranks,
           is_of_processes ? "processes" : "threads", "");
    for (int i = 0; i < QUESTIONS; ++i) printf(" %-9s", questions[i]);
    printf("\n");
    const int failed = is_of_processes ? run_ranks_of_processes("gloo", try_calls, &trial)
                                       : run_ranks("loopback", ranks, try_calls, &trial);
    const int wrong =
        (int)(is_of_processes ? processes_agree((uint64_t)trial.wrong) : (uint64_t)trial.wrong);
    if (failed > 0 && wrong == 0)
        printf("not tried to the end\n");
    else
        printf("%d wrong, %d refused\n", wrong, trial.refused);
    return wrong > 0 ? wrong : failed;
}
