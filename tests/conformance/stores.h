/* The matrix of a store: every call × what is asked of it. Every rank opens the store by itself,
 * and all ranks do each cell together. Public headers only; C99. stores.c opens and reports,
 * store_calls.c, store_queues.c and store_handles.c say what each cell is. */
#ifndef TUTTI_TESTS_CONFORMANCE_STORES_H
#define TUTTI_TESTS_CONFORMANCE_STORES_H

#include "conformance.h"

/* One rank in one cell. The group, over which the ranks meet, does not use the store. */
typedef struct store_visit {
    rank_context* rank;
    tutti_store* store;
    char prefix[96]; /* of the keys of this cell, which nobody used before */
    verdict how;
    char why[1000]; /* of a failure, the first */
    tutti_error error;
} store_visit;

/* The demands on a call. */
typedef enum store_question {
    ALONE,    /* by each rank on keys of its own */
    OTHERS,   /* one rank's doing, as others see it */
    AT_ONCE,  /* by all ranks on one key */
    WAITING,  /* for what another rank does later */
    TIME_OUT, /* waiting for what never comes */
    BYTES,    /* values and keys of any bytes and length */
    QUESTIONS
} store_question;

typedef struct store_call {
    const char* name;
    int may_be_missing; /* a store may refuse it: UNSUPPORTED */
    void (*cells[QUESTIONS])(store_visit* me);
} store_call;

extern const store_call store_calls[], store_queue_calls[], store_handle_calls[];
extern const int store_call_count, store_queue_call_count, store_handle_call_count;

/* Tries all of it and prints the table. `where`: "hash", "file:PATH", "tcp:HOST:PORT",
 * "prefix:" and one of these, or "NAME:ADDRESS" of a library; "://" may stand for ":". Returns how
 * many cells are wrong. */
int try_store(const char* where, int32_t ranks, int is_of_processes);

/* For the cells. They go on behind a failure, for the other ranks wait for this one. */
/* Notes a failure, unless one is known. */
void store_failed(store_visit* me, const char* what, tutti_status status);
/* Until all ranks are here, and what this one wrote has arrived. */
void store_meet(store_visit* me);
/* The key `name` of this cell; one of the last eight that were asked for. */
const char* store_key(store_visit* me, const char* name);
/* The key `name` of this cell and of a rank. */
const char* store_key_of(store_visit* me, const char* name, int32_t rank);
void store_set_text(store_visit* me, const char* key, const char* text);
/* The key must have that value by now. */
void store_expect(store_visit* me, const char* key, const void* value, size_t size);
void store_expect_text(store_visit* me, const char* key, const char* text);
/* Takes the bytes that a call gave, which may be NULL, and compares them. */
void store_expect_bytes(store_visit* me, tutti_bytes* bytes, const void* value, size_t size);
/* The sum of what all ranks give. */
int64_t store_sum(store_visit* me, int64_t value);
/* The rank before this one; before the first is the last. */
int32_t store_before(const store_visit* me);
/* Options with that timeout. */
tutti_store_call_options store_within(int64_t timeout_ms);

#define STORE_STATUS(me, call, wanted)                             \
    do {                                                           \
        const tutti_status status_ = (call);                       \
        if (status_ != (wanted)) store_failed(me, #call, status_); \
    } while (0)
#define STORE_OK(me, call) STORE_STATUS(me, call, TUTTI_OK)
#define STORE_HOLDS(me, condition)                                \
    do {                                                          \
        if (!(condition)) store_failed(me, #condition, TUTTI_OK); \
    } while (0)

#endif
