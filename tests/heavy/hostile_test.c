/* Strangers, liars and floods at a TCP store's server in a process of its own: they cost their own
 * connection and bounded memory; who behaves is served meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server.h"
#include "support/contract.h"
#include "support/sanitizers.h"
#include "support/seed.h"

enum { MIB = 1024 * 1024 };

/* Memory of the server beyond what it had, in the worst moment. */
static void expect_peak_below(const server_process* server, long before_kib, long allowed_mib) {
    const long grown = server_peak_kib(server) - before_kib;
    print_message("the server grew by %ld KiB at most, %ld MiB are allowed\n", grown, allowed_mib);
    /* The thread sanitizer's own memory drowns the program's; address's is kept little, in
     * CMakeLists.txt. */
    if (!THREAD_SANITIZED) assert_true(grown < allowed_mib * 1024);
}

/* A client that behaves is served at once. */
static void expect_service(const server_process* server) {
    tutti_store* store = NULL;
    int64_t before = 0, after = 0;
    EXPECT_OK(server_client(server, &store, &error));
    EXPECT_OK(tutti_store_add(store, "served", 1, &before, &error));
    EXPECT_OK(tutti_store_add(store, "served", 1, &after, &error));
    assert_int_equal(after, before + 1);
    tutti_store_release(store);
}

static void expect_hang_up(int fd) {
    char byte;
    assert_int_equal(raw_receive(fd, &byte, 1), 0);
    close(fd);
}

static int greeted(const server_process* server) {
    char bytes[8];
    const int fd = raw_connect(server);
    assert_true(raw_send(fd, bytes, (size_t)(put_greeting(bytes) - bytes)));
    return fd;
}

/* Returns when the server has dealt with everything that was sent there before. */
static void say_and_await_done(const server_process* server, int fd) {
    const char* const done = "done";
    char bytes[64], *end = bytes;
    tutti_store* store = NULL;
    *end++ = 1; /* SET */
    end = put_string(end, "/done", 5);
    end = put_string(end, "", 0);
    raw_send(fd, bytes, (size_t)(end - bytes));
    EXPECT_OK(server_client(server, &store, &error));
    EXPECT_OK(tutti_store_wait(store, &done, 1, NULL, &error));
    tutti_store_release(store);
}

/* Eight bytes of answer each, more than the kernel takes; nobody reads before all are asked. */
static void a_flood_of_small_requests_costs_little_more_than_its_answers(void** state) {
    const server_process* server = (const server_process*)*state;
    enum { AT_ONCE = 100000, TIMES = THREAD_SANITIZED ? 4 : 40, ANSWER = 8, COUNT_KEYS = 7 };
    char* const requests = (char*)malloc(AT_ONCE);
    char* const answers = (char*)malloc(AT_ONCE * ANSWER);
    const int fd = greeted(server);
    expect_service(server);
    const long before = server_memory_kib(server);
    memset(requests, COUNT_KEYS, AT_ONCE);
    for (int i = 0; i < TIMES; ++i) assert_true(raw_send(fd, requests, AT_ONCE));
    say_and_await_done(server, fd);
    for (int i = 0; i < TIMES; ++i)
        assert_int_equal(raw_receive(fd, answers, AT_ONCE * ANSWER), AT_ONCE * ANSWER);
    expect_peak_below(server, before, 128);
    close(fd);
    free(requests);
    free(answers);
}

static void who_does_not_read_large_answers_is_cut_off_in_time(void** state) {
    const server_process* server = (const server_process*)*state;
    enum { SIZE = 16 * MIB, REQUESTS = 400 };
    char* const value = (char*)calloc(1, SIZE);
    const char* const large = "large";
    tutti_store* store = NULL;
    int32_t there = 0;
    EXPECT_OK(server_client(server, &store, &error));
    EXPECT_OK(tutti_store_set(store, large, value, SIZE, &error));
    /* Without it the requests would be answered, and with nothing. */
    EXPECT_OK(tutti_store_check(store, &large, 1, &there, &error));
    assert_int_equal(there, 1);
    const long before = server_memory_kib(server);
    const int fd = greeted(server);
    char bytes[32], *end = bytes;
    *end++ = 7; /* COUNT_KEYS */
    assert_true(raw_send(fd, bytes, 1));
    assert_int_equal(raw_receive(fd, bytes, 8), 8); /* the server knows of this connection */
    const int descriptors = server_descriptors(server);
    end = bytes;
    *end++ = 3; /* GET */
    end = put_string(end, "/large", 6);
    for (int i = 0; i < REQUESTS; ++i)
        if (!raw_send(fd, bytes, (size_t)(end - bytes))) break;
    server_await_descriptors(server, descriptors - 1); /* before anybody reads */
    size_t received = 0;
    for (size_t count = SIZE; count == SIZE; received += count)
        count = raw_receive(fd, value, SIZE);
    assert_true(received < (size_t)REQUESTS * SIZE);
    expect_peak_below(server, before, 256);
    close(fd);
    tutti_store_release(store);
    free(value);
}

/* Lengths and counts that are allowed or not; what comes behind them is a kilobyte. */
static void what_is_announced_costs_nothing(void** state) {
    const server_process* server = (const server_process*)*state;
    enum { CONNECTIONS = 100 };
    const uint64_t announced[] = {(uint64_t)1 << 60, (uint64_t)1 << 63, UINT64_MAX,
                                  ((uint64_t)1 << 30) - 100, (uint64_t)1 << 29};
    const size_t kinds = sizeof announced / sizeof *announced;
    static char rest[1024];
    int fds[CONNECTIONS];
    const int descriptors = server_descriptors(server);
    expect_service(server);
    const long before = server_memory_kib(server);
    for (int i = 0; i < CONNECTIONS; ++i) {
        char bytes[64], *end = bytes;
        *end++ = 1; /* SET */
        end = put_string(end, "/k", 2);
        end = put_number(end, announced[(size_t)i % kinds]);
        fds[i] = greeted(server);
        if (raw_send(fds[i], bytes, (size_t)(end - bytes))) raw_send(fds[i], rest, sizeof rest);
    }
    for (int i = 0; i < CONNECTIONS; ++i)
        if (announced[(size_t)i % kinds] > (uint64_t)1 << 30) expect_hang_up(fds[i]);
    expect_service(server);
    expect_peak_below(server, before, 16);
    for (int i = 0; i < CONNECTIONS; ++i)
        if (announced[(size_t)i % kinds] <= (uint64_t)1 << 30) close(fds[i]);
    server_await_descriptors(server, descriptors);
}

static void random_bytes_from_many_change_nothing_for_the_others(void** state) {
    const server_process* server = (const server_process*)*state;
    enum { CONNECTIONS = 300, SIZE = 3000 };
    const unsigned seed = test_seed();
    const int descriptors = server_descriptors(server);
    static char bytes[SIZE];
    tutti_store* store = NULL;
    int64_t sum = 0;
    print_message("seed %u\n", seed);
    srandom(seed);
    EXPECT_OK(server_client(server, &store, &error));
    for (int i = 0; i < CONNECTIONS; ++i) {
        const int fd = i % 2 ? greeted(server) : raw_connect(server);
        for (int k = 0; k < SIZE; ++k) bytes[k] = (char)random();
        raw_send(fd, bytes, SIZE);
        EXPECT_OK(tutti_store_add(store, "mine", 1, &sum, &error));
        assert_int_equal(sum, i + 1);
        close(fd);
    }
    tutti_store_release(store);
    server_await_descriptors(server, descriptors);
}

static void half_messages_and_silence_hold_up_nobody(void** state) {
    const server_process* server = (const server_process*)*state;
    enum { CONNECTIONS = 600 };
    static int fds[CONNECTIONS];
    const int descriptors = server_descriptors(server);
    char bytes[64], *end = bytes;
    *end++ = 1; /* SET */
    end = put_string(end, "/half", 5);
    end = put_string(end, "value", 5);
    const size_t whole = (size_t)(end - bytes);
    for (size_t i = 0; i < CONNECTIONS; ++i) {
        fds[i] = i % 5 == 0 ? raw_connect(server) : greeted(server);
        if (i % 5 != 0) assert_true(raw_send(fds[i], bytes, i % whole));
    }
    expect_service(server);
    for (size_t i = 0; i < CONNECTIONS; ++i) close(fds[i]);
    server_await_descriptors(server, descriptors);
    expect_service(server);
}

static void thousands_that_come_and_go_leave_nothing_behind(void** state) {
    const server_process* server = (const server_process*)*state;
    enum { TIMES = 3000 };
    char bytes[64], *end = put_greeting(bytes);
    const int descriptors = server_descriptors(server);
    *end++ = 6; /* WAIT */
    end = put_number(end, 1);
    end = put_string(end, "/never", 6);
    expect_service(server);
    const long before = server_memory_kib(server);
    for (int i = 0; i < TIMES; ++i) {
        const int fd = raw_connect(server);
        assert_true(raw_send(fd, bytes, (size_t)(end - bytes)));
        close(fd);
    }
    server_await_descriptors(server, descriptors);
    expect_peak_below(server, before, 16);
    expect_service(server);
}

#define HOSTILE_TEST(function) cmocka_unit_test_setup_teardown(function, server_open, server_close)

int main(int argc, char** argv) {
    serve_if_asked(argc, argv);
    if (!allow_descriptors(2000)) {
        puts("skipped: this system does not allow 2000 descriptors");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        HOSTILE_TEST(a_flood_of_small_requests_costs_little_more_than_its_answers),
        HOSTILE_TEST(who_does_not_read_large_answers_is_cut_off_in_time),
        HOSTILE_TEST(what_is_announced_costs_nothing),
        HOSTILE_TEST(random_bytes_from_many_change_nothing_for_the_others),
        HOSTILE_TEST(half_messages_and_silence_hold_up_nobody),
        HOSTILE_TEST(thousands_that_come_and_go_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
