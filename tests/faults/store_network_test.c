/* A TCP store whose connections are split, stall and break, at every byte of every operation:
 * each call ends, with the right answer or with an error that names the operation, host and port,
 * and the next one finds its way again. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>

#include "support/contract.h"
#include "support/proxy.h"
#include "support/sockets.h"

enum { AMPLE_MS = 60000, SHORT_MS = 30, LONGEST_DIALOGUE = 64, LARGE = 5000, QUEUED = 300 };

static tutti_store *served, *client; /* `client` talks through the proxy */
static proxy* network;
static char address[32]; /* of the proxy, as errors name it */

static int open_all(void** state) {
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    int32_t port = 0;
    (void)state;
    options.no_wait_for_workers = 1;
    options.timeout_ms = AMPLE_MS;
    EXPECT_OK(tutti_tcp_store_create("127.0.0.1", 0, -1, 1, &options, &served, &error));
    EXPECT_OK(tutti_tcp_store_port(served, &port, &error));
    network = proxy_open(port);
    snprintf(address, sizeof address, "127.0.0.1:%d", (int)proxy_port(network));
    EXPECT_OK(
        tutti_tcp_store_create("127.0.0.1", proxy_port(network), -1, 0, &options, &client, &error));
    EXPECT_OK(tutti_store_set(served, "k", "value", 5, &error));
    for (int i = 0; i < QUEUED; ++i)
        EXPECT_OK(tutti_store_queue_push(served, "full", "value", 5, &error));
    return 0;
}

static int close_all(void** state) {
    (void)state;
    tutti_store_release(client);
    proxy_close(network);
    tutti_store_release(served);
    return 0;
}

static const char* const keys[] = {"k", "n"};

static tutti_status do_set(void) {
    return tutti_store_set(client, "k", "value", 5, &error);
}
static tutti_status do_get(void) {
    tutti_bytes* value = NULL;
    const tutti_status status = tutti_store_get(client, "k", NULL, &value, &error);
    if (status == TUTTI_OK) assert_memory_equal(tutti_bytes_data(value), "value", 5);
    tutti_bytes_release(value);
    return status;
}
static tutti_status do_add(void) {
    int64_t sum = 0;
    return tutti_store_add(client, "n", 1, &sum, &error);
}
static tutti_status do_append(void) {
    return tutti_store_append(client, "text", "more", 4, &error);
}
static tutti_status do_check(void) {
    int32_t found = -1;
    const tutti_status status = tutti_store_check(client, keys, 1, &found, &error);
    if (status == TUTTI_OK) assert_int_equal(found, 1);
    return status;
}
static tutti_status do_wait(void) {
    return tutti_store_wait(client, keys, 1, NULL, &error);
}
static tutti_status do_compare_set(void) {
    tutti_bytes* value = NULL;
    const tutti_status status =
        tutti_store_compare_set(client, "k", "value", 5, "value", 5, &value, &error);
    if (status == TUTTI_OK) assert_int_equal(tutti_bytes_size(value), 5);
    tutti_bytes_release(value);
    return status;
}
static tutti_status do_delete_key(void) {
    int32_t deleted = -1;
    return tutti_store_delete_key(client, "none", &deleted, &error);
}
static tutti_status do_multi_get(void) {
    const char* const twice[] = {"k", "k"};
    tutti_bytes* values[2] = {NULL, NULL};
    const tutti_status status = tutti_store_multi_get(client, twice, 2, NULL, values, &error);
    if (status == TUTTI_OK) assert_int_equal(tutti_bytes_size(values[1]), 5);
    tutti_bytes_release(values[0]);
    tutti_bytes_release(values[1]);
    return status;
}
static tutti_status do_multi_set(void) {
    const char* const names[] = {"k", "l"};
    const void* const values[] = {"value", "x"};
    const size_t sizes[] = {5, 1};
    return tutti_store_multi_set(client, names, values, sizes, 2, &error);
}
static tutti_status do_num_keys(void) {
    int64_t count = 0;
    return tutti_store_num_keys(client, &count, &error);
}

static tutti_status do_queue_push(void) {
    return tutti_store_queue_push(client, "queue", "value", 5, &error);
}
static tutti_status do_queue_pop(void) {
    tutti_bytes* value = NULL;
    const tutti_status status = tutti_store_queue_pop(client, "full", 1, NULL, &value, &error);
    if (status == TUTTI_OK) assert_int_equal(tutti_bytes_size(value), 5);
    tutti_bytes_release(value);
    return status;
}
static tutti_status do_queue_len(void) {
    int64_t length = 0;
    return tutti_store_queue_len(client, "queue", &length, &error);
}
static tutti_status do_list_keys(void) {
    tutti_bytes* names = NULL;
    int64_t count = 0;
    const tutti_status status = tutti_store_list_keys(client, &names, &count, &error);
    tutti_bytes_release(names);
    return status;
}
static tutti_status do_barrier(void) {
    return tutti_store_barrier(client, "barrier", 1, NULL, &error);
}

static const struct {
    const char* name;
    tutti_status (*call)(void);
} operations[] = {
    {"set", do_set},
    {"get", do_get},
    {"add", do_add},
    {"append", do_append},
    {"check", do_check},
    {"wait", do_wait},
    {"compare_set", do_compare_set},
    {"delete_key", do_delete_key},
    {"multi_get", do_multi_get},
    {"multi_set", do_multi_set},
    {"num_keys", do_num_keys},
    {"queue_push", do_queue_push},
    {"queue_pop", do_queue_pop},
    {"queue_len", do_queue_len},
    {"list_keys", do_list_keys},
    {"barrier", do_barrier},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void expect_named(const char* operation, tutti_status status, const char* where) {
    const int known =
        status == TUTTI_ERR_TIMEOUT || status == TUTTI_ERR_STORE || status == TUTTI_ERR_NETWORK;
    if (known && strstr(error.message, operation) && strstr(error.message, address)) return;
    fail_msg("%s, %s: %s: %s", operation, where, tutti_status_name(status), error.message);
}

/* The call under a fault, and two more without: the first may have to tell that what had no answer
 * is lost. */
static int fails_under(int operation, proxy_fault fault, proxy_direction direction, size_t after) {
    char where[64];
    snprintf(where, sizeof where, "fault %d, direction %d, after %zu bytes", (int)fault,
             (int)direction, after);
    proxy_fail(network, fault, direction, after);
    const tutti_status status = operations[operation].call();
    if (status != TUTTI_OK) expect_named(operations[operation].name, status, where);
    proxy_carry(network, SIZE_MAX);
    EXPECT_OK(tutti_store_set_timeout(client, AMPLE_MS, &error));
    const tutti_status next = do_check();
    if (next != TUTTI_OK) expect_named("check", next, where);
    EXPECT_OK(do_check());
    return status != TUTTI_OK;
}

static void bytes_that_come_one_by_one_change_nothing(void** state) {
    static char large[LARGE];
    tutti_bytes* value = NULL;
    (void)state;
    for (size_t i = 0; i < LARGE; ++i) large[i] = (char)(i * 7);
    proxy_carry(network, 1);
    for (int operation = 0; operation < OPERATIONS; ++operation)
        EXPECT_OK(operations[operation].call());
    EXPECT_OK(tutti_store_set(client, "large", large, LARGE, &error));
    EXPECT_OK(tutti_store_get(client, "large", NULL, &value, &error));
    assert_int_equal(tutti_bytes_size(value), LARGE);
    assert_memory_equal(tutti_bytes_data(value), large, LARGE);
    tutti_bytes_release(value);
}

static void a_connection_cut_anywhere_ends_the_call_with_an_error_that_names_it(void** state) {
    int failed = 0;
    (void)state;
    EXPECT_OK(do_add());
    for (int operation = 0; operation < OPERATIONS; ++operation)
        for (size_t after = 0; after < LONGEST_DIALOGUE; ++after)
            for (int direction = 0; direction < 2; ++direction)
                failed += fails_under(operation, after % 2 ? RESET : CUT,
                                      (proxy_direction)direction, after);
    assert_true(failed > 5 * OPERATIONS);
}

static void a_connection_that_stalls_anywhere_ends_the_call_in_time(void** state) {
    int failed = 0;
    (void)state;
    EXPECT_OK(do_add());
    for (int operation = 0; operation < OPERATIONS; ++operation) {
        for (size_t after = 0; after < LONGEST_DIALOGUE; after = 2 * after + 1) {
            for (int direction = 0; direction < 2; ++direction) {
                EXPECT_OK(tutti_store_set_timeout(client, SHORT_MS, &error));
                failed += fails_under(operation, STALL, (proxy_direction)direction, after);
            }
        }
    }
    assert_true(failed > OPERATIONS);
}

static void a_greeting_that_fails_names_the_server(void** state) {
    tutti_tcp_store_options options = TUTTI_TCP_STORE_OPTIONS_INIT;
    (void)state;
    options.no_wait_for_workers = 1;
    options.timeout_ms = 100;
    for (size_t after = 0; after < 40; after = 2 * after + 1) {
        for (int fault = STALL; fault <= RESET; ++fault) {
            for (int direction = 0; direction < 2; ++direction) {
                tutti_store* other = NULL;
                proxy_fail(network, (proxy_fault)fault, (proxy_direction)direction, after);
                const tutti_status status = tutti_tcp_store_create("127.0.0.1", proxy_port(network),
                                                                   -1, 0, &options, &other, &error);
                if (status != TUTTI_OK) expect_named("TCP store", status, "greeting");
                proxy_carry(network, SIZE_MAX);
                tutti_store_release(other);
            }
        }
    }
}

typedef struct waiting {
    tutti_error error;
    tutti_status status;
} waiting;

static void* wait_for_nothing(void* argument) {
    waiting* one = (waiting*)argument;
    tutti_bytes* value = NULL;
    one->status = tutti_store_get(client, "never", NULL, &value, &one->error);
    return NULL;
}

static void a_wait_ends_when_its_connection_breaks(void** state) {
    waiting one = {TUTTI_ERROR_INIT, TUTTI_OK};
    pthread_t thread;
    int32_t port = 0;
    (void)state;
    EXPECT_OK(tutti_tcp_store_port(served, &port, &error));
    const int before = connections_to(port);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_nothing, &one), 0);
    while (connections_to(port) == before) poll(NULL, 0, 5);
    proxy_drop(network);
    pthread_join(thread, NULL);
    error = one.error;
    expect_named("get", one.status, "waiting");
}

#define NETWORK_TEST(function) cmocka_unit_test_setup_teardown(function, open_all, close_all)

int main(void) {
    const struct CMUnitTest tests[] = {
        NETWORK_TEST(bytes_that_come_one_by_one_change_nothing),
        NETWORK_TEST(a_connection_cut_anywhere_ends_the_call_with_an_error_that_names_it),
        NETWORK_TEST(a_connection_that_stalls_anywhere_ends_the_call_in_time),
        NETWORK_TEST(a_greeting_that_fails_names_the_server),
        NETWORK_TEST(a_wait_ends_when_its_connection_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
