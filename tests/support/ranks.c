/* Ranks as threads; see ranks.h. */
#include "ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti/ext.h>
#include <unistd.h>

/* Long enough for any machine; a test that means a timeout gives its own. */
static const int64_t group_timeout_ms = 60000;

typedef struct rank_thread {
    rank_context context;
    const char* backend;
    tutti_store* meeting;
    rank_function function;
    pthread_t thread;
} rank_thread;

void rank_failed(rank_context* me, const char* file, int line, const char* what,
                 tutti_status status) {
    me->failed = 1;
    fprintf(stderr, "%s:%d: rank %d of %d: %s: %s %s\n", file, line, (int)me->rank, (int)me->size,
            what, tutti_status_name(status), status == TUTTI_OK ? "" : me->error.message);
}

int rank_says(const rank_context* me, const char* fragment) {
    return strstr(me->error.message, fragment) != NULL;
}

void rank_tell(rank_context* me, const char* event) {
    RANK_OK(me, tutti_store_set(me->store, event, NULL, 0, &me->error));
}

void rank_await(rank_context* me, const char* event) {
    tutti_store_call_options options = TUTTI_STORE_CALL_OPTIONS_INIT;
    options.timeout_ms = group_timeout_ms;
    RANK_OK(me, tutti_store_wait(me->store, &event, 1, &options, &me->error));
}

int64_t rank_sum(rank_context* me, tutti_group* group, int64_t value) {
    const tutti_buffer buffer = TUTTI_BUFFER_INIT(&value, 1, TUTTI_INT64);
    const tutti_status status =
        tutti_all_reduce(group, NULL, &buffer, TUTTI_SUM, NULL, NULL, &me->error);
    if (status != TUTTI_OK) rank_failed(me, __FILE__, __LINE__, "all_reduce", status);
    return value;
}

static void live(rank_thread* thread) {
    rank_context* me = &thread->context;
    tutti_group_options options = TUTTI_GROUP_OPTIONS_INIT;
    options.timeout_ms = group_timeout_ms;
    RANK_OK(me, tutti_group_create(thread->backend, thread->meeting, NULL, me->rank, me->size,
                                   &options, &me->group, &me->error));
    tutti_group* group = me->group;
    /* Otherwise the others may fail, as tests do, before this rank's group is made. */
    RANK_OK(me, tutti_store_barrier(me->store, "made", me->size, NULL, &me->error));
    thread->function(me);
    if (me->group != NULL && !me->failed) {
        const tutti_status status = tutti_destroy_process_group(group, NULL, &me->error);
        if (status != TUTTI_OK) rank_failed(me, __FILE__, __LINE__, "destroying the group", status);
    }
    tutti_group_release(group);
}

static void* start(void* thread) {
    live((rank_thread*)thread);
    return NULL;
}

static void must(int happened, const char* what) {
    if (happened) return;
    fprintf(stderr, "run_ranks: %s\n", what);
    abort();
}

const char* run_ranks_store = NULL;

/* Empty: where there may be keys of others, behind a prefix of its own. */
static tutti_store* open_store(void) {
    static int runs;
    tutti_error error = TUTTI_ERROR_INIT;
    tutti_store *store = NULL, *fresh = NULL;
    char name[64] = "", prefix[64];
    if (run_ranks_store == NULL) {
        must(tutti_hash_store_create(&store, NULL) == TUTTI_OK, "no hash store");
        return store;
    }
    const char* const colon = strchr(run_ranks_store, ':');
    must(colon != NULL && (size_t)(colon - run_ranks_store) < sizeof name, "no NAME:ADDRESS");
    memcpy(name, run_ranks_store, (size_t)(colon - run_ranks_store));
    const tutti_status status = tutti_store_open(name, colon + 1, NULL, &store, &error);
    must(status == TUTTI_OK, error.message);
    (void)snprintf(prefix, sizeof prefix, "%d-%d", (int)getpid(), ++runs);
    must(tutti_prefix_store_create(store, prefix, &fresh, NULL) == TUTTI_OK, "no prefix store");
    tutti_store_release(store);
    return fresh;
}

int run_ranks(const char* backend, int32_t size, rank_function function, void* user) {
    rank_thread* threads = (rank_thread*)calloc((size_t)size, sizeof *threads);
    tutti_store *const store = open_store(), *meeting;
    must(threads != NULL, "out of memory");
    must(tutti_prefix_store_create(store, "group", &meeting, NULL) == TUTTI_OK, "no prefix store");
    for (int32_t rank = 0; rank < size; ++rank) {
        rank_thread* thread = &threads[rank];
        thread->backend = backend;
        thread->meeting = meeting;
        thread->function = function;
        thread->context.store = store;
        thread->context.rank = rank;
        thread->context.size = size;
        thread->context.user = user;
        tutti_error_init(&thread->context.error, sizeof thread->context.error);
        must(pthread_create(&thread->thread, NULL, start, thread) == 0, "no thread");
    }
    int failed = 0;
    for (int32_t rank = 0; rank < size; ++rank) {
        pthread_join(threads[rank].thread, NULL);
        failed += threads[rank].context.failed;
    }
    tutti_store_release(meeting);
    tutti_store_release(store);
    free(threads);
    return failed;
}
