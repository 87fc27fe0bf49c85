/* A thousand clients of one TCP store, each a thread: all connect, meet, tell each other something
 * and leave, several times over. Nothing they said is lost, and the server is afterwards as it was
 * before. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "server.h"
#include "support/contract.h"
#include "support/sanitizers.h"

enum {
    CLIENTS = THREAD_SANITIZED ? 150 : 1000,
    ROUNDS = THREAD_SANITIZED ? 2 : 5,
    ADDS = 10,
    /* A command connection and one for waits each; in this process both ends' files and more. */
    DESCRIPTORS = 2 * CLIENTS + 200,
    STACK = 256 * 1024,
    GROWTH_KIB = 4 * 1024
};

typedef struct client {
    const server_process* server;
    int index, round;
    char failure[600];
} client;

/* In a client's thread: the call, which gets `&fault`, must succeed. */
#define TRY(me, call)                                                                  \
    do {                                                                               \
        if ((call) != TUTTI_OK) {                                                      \
            snprintf((me)->failure, sizeof(me)->failure, "client %d: %s", (me)->index, \
                     fault.message);                                                   \
            goto leave;                                                                \
        }                                                                              \
    } while (0)
#define MUST(me, condition)                                                                    \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            snprintf((me)->failure, sizeof(me)->failure, "client %d: not so: %s", (me)->index, \
                     #condition);                                                              \
            goto leave;                                                                        \
        }                                                                                      \
    } while (0)

/* No rank passes until all have come. */
static tutti_status meet(tutti_store* store, const char* place, int round, tutti_error* fault) {
    char counter[64], open[64];
    const char* const key = open;
    int64_t came = 0;
    snprintf(counter, sizeof counter, "%s/%d/came", place, round);
    snprintf(open, sizeof open, "%s/%d/open", place, round);
    tutti_status status = tutti_store_add(store, counter, 1, &came, fault);
    if (status == TUTTI_OK && came == CLIENTS) status = tutti_store_set(store, open, "", 0, fault);
    return status == TUTTI_OK ? tutti_store_wait(store, &key, 1, NULL, fault) : status;
}

static void* be_client(void* argument) {
    client* me = (client*)argument;
    tutti_error fault = TUTTI_ERROR_INIT;
    tutti_store* store = NULL;
    tutti_bytes* value = NULL;
    char key[32], said[32], wanted[32];
    int64_t sum = 0;
    int32_t deleted = 0;
    TRY(me, server_client(me->server, &store, &fault));
    snprintf(key, sizeof key, "client/%d", me->index);
    const int length = snprintf(said, sizeof said, "%d says %d", me->index, me->round);
    TRY(me, tutti_store_set(store, key, said, (size_t)length, &fault));
    for (int i = 0; i < ADDS; ++i) TRY(me, tutti_store_add(store, "sum", me->index, &sum, &fault));
    TRY(me, meet(store, "said", me->round, &fault));

    const int other = (me->index * 7 + 1) % CLIENTS;
    snprintf(key, sizeof key, "client/%d", other);
    snprintf(wanted, sizeof wanted, "%d says %d", other, me->round);
    TRY(me, tutti_store_get(store, key, NULL, &value, &fault));
    MUST(me, tutti_bytes_size(value) == strlen(wanted));
    MUST(me, memcmp(tutti_bytes_data(value), wanted, strlen(wanted)) == 0);
    TRY(me, tutti_store_add(store, "sum", 0, &sum, &fault));
    MUST(me, sum == (int64_t)(me->round + 1) * ADDS * CLIENTS * (CLIENTS - 1) / 2);
    snprintf(key, sizeof key, "barrier/%d", me->round);
    TRY(me, tutti_store_barrier(store, key, CLIENTS, NULL, &fault));
    snprintf(key, sizeof key, "client/%d", me->index);
    TRY(me, tutti_store_delete_key(store, key, &deleted, &fault));
    MUST(me, deleted == 1);
leave:
    tutti_bytes_release(value);
    tutti_store_release(store);
    return NULL;
}

/* How many of the clients failed. */
static int run_clients(const server_process* server, int round) {
    static client clients[CLIENTS];
    static pthread_t threads[CLIENTS];
    pthread_attr_t attributes;
    int failures = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (int i = 0; i < CLIENTS; ++i) {
        clients[i] = (client){server, i, round, ""};
        assert_int_equal(pthread_create(&threads[i], &attributes, be_client, &clients[i]), 0);
    }
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < CLIENTS; ++i) {
        pthread_join(threads[i], NULL);
        if (clients[i].failure[0] == '\0') continue;
        if (++failures <= 3) print_error("%s\n", clients[i].failure);
    }
    return failures;
}

static void a_thousand_clients_lose_nothing_and_leave_nothing_behind(void** state) {
    const server_process* server = (const server_process*)*state;
    const int before = server_descriptors(server);
    long first_kib = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        assert_int_equal(run_clients(server, round), 0);
        server_await_descriptors(server, before);
        const long kib = server_memory_kib(server);
        print_message("round %d: %d clients, server %ld KiB, %d descriptors\n", round, (int)CLIENTS,
                      kib, server_descriptors(server));
        if (round == 0) first_kib = kib;
        if (!THREAD_SANITIZED) assert_true(kib < first_kib + GROWTH_KIB);
    }
}

int main(int argc, char** argv) {
    serve_if_asked(argc, argv);
    if (!allow_descriptors(DESCRIPTORS)) {
        printf("skipped: this system does not allow %d descriptors\n", (int)DESCRIPTORS);
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_thousand_clients_lose_nothing_and_leave_nothing_behind, server_open, server_close)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
