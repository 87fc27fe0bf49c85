/* A backend that moves all data through the store where the ranks have met: slow, complete, and of
 * tutti/ext.h alone. It is polled: everything happens in test(), one thread at a time. */
#ifndef MAILBOX_H
#define MAILBOX_H

#include <pthread.h>
#include <tutti/ext.h>

/* A call that is under way, in the order of their coming. */
typedef struct entry {
    struct entry* next;
    const tutti_backend_call* call;
    int is_set;                 /* of a collective: its own key */
    int is_taken, is_cancelled; /* of a message */
    char** parts;               /* of a collective: what each rank has brought; NULL: not yet */
} entry;

/* How many messages of a tag have come from a rank, or gone there. */
typedef struct counter {
    struct counter* next;
    int32_t peer, tag;
    int is_outgoing;
    long long count;
} counter;

typedef struct mailbox {
    const tutti_backend_host* host;
    const tutti_store_table* store_table;
    void* store;
    int32_t rank, size;
    pthread_mutex_t mutex; /* of what follows */
    entry *collectives, *messages;
    tutti_status aborted; /* TUTTI_OK: it is not */
    char why[256];
    char* has_left;    /* for each rank */
    counter* counters; /* of test() alone */
} mailbox;

/* This rank's part of a call: writes it at `out`, unless that is NULL; returns the bytes. */
size_t pack(const mailbox* me, const tutti_backend_call* call, char* out);
const char* fingerprint_of(const char* part);
/* Makes the outputs of what all ranks bring. */
tutti_status unpack(const mailbox* me, const tutti_backend_call* call, char** parts,
                    tutti_error* error);

#endif
